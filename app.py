"""Headroom: page config and navigation."""

import streamlit as st

from pages.ui import shell

st.set_page_config(page_title="Headroom", layout="wide")
shell.run()

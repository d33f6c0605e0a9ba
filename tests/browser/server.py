"""A real Streamlit server on a free port, for the browser tests and the bench."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium_path() -> str:
    """The browser that the tests drive; `CHROMIUM` names another one."""
    for name in (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        if name and (found := shutil.which(name)):
            return found
    raise RuntimeError("no Chromium found: `make chromium` installs or explains")


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running(app: Path = ROOT / "app.py", port: int | None = None) -> Iterator[str]:
    """Serve `app` with the project's own settings; yields its address and stops it afterwards."""
    port = port or free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "streamlit", "run", str(app)]
    options = ["--server.port", str(port), "--server.address", "127.0.0.1"]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen([*command, *options], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
        try:
            for _ in range(600):
                if server.poll() is not None:
                    log.seek(0)
                    raise RuntimeError(f"the server ended: {log.read().decode(errors='replace')[-2000:]}")
                try:
                    with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1):
                        break
                except OSError:
                    time.sleep(0.1)
            yield url
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()

"""What fills memory, what decides speed: short lessons, each with a picture that can be dragged."""

from pages.ui import glossary, picture, shell
from pages.ui.lessons import lessons

shell.view()
picture.draw(lessons(), glossary.TERMS)

"""The viewer of a tape as an object that a notebook shows."""

import html
import pathlib


class Page:
    """A page that steps through a tape, forward and backward, in a browser. A notebook shows it in a frame."""

    def __init__(self, text):
        self.text = text

    def save(self, file):
        """Writes the page to a file."""
        pathlib.Path(file).write_text(self.text, encoding="utf-8")

    def _repr_html_(self):
        return (f'<iframe srcdoc="{html.escape(self.text)}" '
                'style="width: 100%; height: 640px; border: 0"></iframe>')

"""Table and picture of docs/performance.md are what bench/figures.jsonl says: figures_test.py ROOT"""

import pathlib
import sys

root = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(root / "bench/peers"))
import page

for path, text in zip((page.page, page.picture), page.page_and_picture(root / "bench/figures.jsonl")):
    assert path.read_text() == text, f"{path.name} is not what bench/peers/page.py bench/figures.jsonl makes"

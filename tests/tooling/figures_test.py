"""Tables and pictures of docs/performance.md and docs/story.md have the kept figures: figures_test.py ROOT"""

import pathlib
import sys

root = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(root / "bench/peers"), str(root / "bench/story")]
import page
import story

for made, figures, maker in ((page, root / "bench/figures.jsonl", "bench/peers/page.py bench/figures.jsonl"),
                             (story, story.kept, "./dev bench --story --page")):
    for path, text in zip((made.page, made.picture), made.page_and_picture(figures)):
        assert path.read_text() == text, f"{path.name} is not what {maker} makes"

"""One offline site of README.md, docs/ here and in the laboratory, course/, notebooks, the reference and the reports:
site.py [FOLDER] [--lab PAGES] [--engine LIVE_JS] [--without-answers]

FOLDER is build/site unless given. PAGES is a folder with the pages of `./dev lab --report PAGES`. The answers to the
questions and exercises of a lesson have a page of their own, which is left out with --without-answers. A picture under a
comment "live: NAME" computes with LIVE_JS, which docs/live builds; without it the picture stands alone. Needs doxygen
and cmark-gfm."""

import argparse
import base64
import gzip
import html
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess

from reference import JUMP, ROOT, SITE, write_reference

LIVE = ROOT / "docs/live"
PLAYGROUND = pathlib.Path("playground.html")
REPORTS = pathlib.Path("lab/reports")  # where the pages of ./dev lab --report go
DOCS = [pathlib.Path("docs"), pathlib.Path("lab/docs")]  # whose README.md lists lessons and pages
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link href="{root}style.css" rel="stylesheet"></head>
<body>{jump}<div class="page">{navigation}<main>
{body}
</main></div></body></html>
"""
# A script shows it, because it does nothing without one.
SEARCH = """<div class="search" role="search" hidden>
<input type="search" placeholder="Search" title="Key: /" aria-label="Search the pages" aria-keyshortcuts="/"
 autocomplete="off"><div class="found" hidden><p role="status"></p><ol></ol>
<p>Names of the library: <a href="{root}reference/index.html">reference</a></p></div></div>
<script src="{root}search.js"></script>"""
# Words of C++ that stand out in code; comments and strings go first, so that words in them do not.
CODE = re.compile(r"(?P<remark>//.*)|(?P<string>&quot;(?:\\.|(?!&quot;).)*&quot;)|(?P<word>#\w+|\b(?:auto|bool|char|class|"
                  r"const|constexpr|double|else|enum|explicit|false|float|for|if|inline|int|namespace|nullptr|operator|"
                  r"public|return|static|struct|template|true|typename|using|void|while)\b)")


def target(path):
    """Where a file or folder of the project goes in the site."""
    if path.name == "README.md":
        return path.with_name("index.html")
    if path.suffix in (".md", ".ipynb"):
        return path.with_suffix(".html")
    return path if path.suffix in (".svg", ".png") else pathlib.Path("source", f"{path}.html")


def relative(path, page):
    return os.path.relpath(path, page.parent)


def plain(markup):
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


def slug(heading, seen):
    """The anchor of a heading, as GitHub makes it."""
    text = plain(heading).strip().lower()
    anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
    seen[anchor] = seen.get(anchor, -1) + 1
    return anchor if seen[anchor] == 0 else f"{anchor}-{seen[anchor]}"


def notebook_as_markdown(notebook):
    """The cells of a notebook with their stored output. The comment that begins a cell describes its picture."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            if output["output_type"] == "stream":
                parts.append(f"```text\n{''.join(output['text'])}```")
            else:
                picture = base64.b64encode("".join(output["data"]["image/svg+xml"]).encode()).decode()
                parts.append(f"![{re.match('# (.*)', source)[1]}](data:image/svg+xml;base64,{picture})")
    return "\n\n".join(parts)


def highlighted(code):
    return CODE.sub(lambda found: f'<span class="{found.lastgroup}">{found[0]}</span>', code)


def engine(folder, **names):
    """A script whose `engines` promise, by precision, what docs/live builds. Their WebAssembly is within, compressed."""
    made = ["const engines = {};", """const begin = async (engine, packed) => {
  const unpacked = new Blob([Uint8Array.from(atob(packed), c => c.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream("gzip"));
  return engine({wasmBinary: await new Response(unpacked).arrayBuffer()});
};"""]
    for precision, name in names.items():
        packed = base64.b64encode(gzip.compress((folder / f"{name}.wasm").read_bytes(), mtime=0)).decode()
        made.append(f'engines.{precision} = () => begin((() => {{ {(folder / f"{name}.js").read_text()}\nreturn tapegrad; }})(), "{packed}");')
    return "\n".join(made) + "\n"


class Site:
    def __init__(self, folder, with_answers=True, engine=None):
        self.folder, self.with_answers, self.engine = folder, with_answers, engine
        self.style = (SITE / "style.css").read_text() + (LIVE / "live.css").read_text()
        self.sources = set()  # files and folders that pages refer to
        self.sections = []  # what the search finds: [page, title, [[anchor, heading, text], ...]]
        link = r"\[([^\]]+)\]\(([\w.]+\.md)\)"
        self.lessons, listed = [], {}
        for folder in DOCS:
            course = (ROOT / folder / "README.md").read_text()
            self.lessons += [(title, folder / page) for title, page in re.findall(rf"^\d+\. {link}", course, re.M)]
            items = "\n".join(re.findall(r"^(?:-|\d+\.) .*(?:\n  .*)*", course, re.M))
            for title, page in re.findall(link, items):
                listed.setdefault(folder / page, title[0].upper() + title[1:])
        lessons = {page for _, page in self.lessons}
        self.pages = [(title, page) for page, title in listed.items() if page not in lessons]

    def navigation(self, page):
        def entry(title, path):
            return f'<a href="{relative(path, page)}">{title}</a>'

        def items(entries):
            return "".join(f"<li>{entry(title, target(path))}</li>" for title, path in entries)

        play = f'<p><b>{entry("Playground", PLAYGROUND)}</b></p>' if self.engine else ""
        search = SEARCH.format(root=relative(".", page) + "/")
        return (f'<nav class="site" id="site">{search}<p><b>{entry("tapegrad", "index.html")}</b></p>'
                f'{play}<b>{entry("The course", "docs/index.html")}</b><ol>{items(self.lessons)}</ol>'
                f'<p>{entry("Build your own tape", "course/index.html")}</p>'
                f'<b>Pages</b><ul>{items(self.pages)}</ul><b>{entry("Reference", "reference/index.html")}</b>'
                f'<b>{entry("The laboratory", "lab/index.html")}</b> <p>{entry("Reports", REPORTS / "index.html")}</p></nav>')

    def write(self, page, title, body, alone=False):
        """alone: whether the page is one file, which may be taken out of the site"""
        path = self.folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        text = PAGE.format(title=html.escape(title), root=relative(".", page) + "/",
                           jump=JUMP, navigation=self.navigation(page), body=body)
        if alone:
            text = text.replace('<link href="./style.css" rel="stylesheet">', f"<style>{self.style}</style>")
            text = text.replace('<script src="./search.js">', f'<script>{(SITE / "search.js").read_text()}')
        path.write_text(text)

    def link(self, source, page, address):
        """The address that a link of a page takes in the site."""
        name, mark, anchor = address.partition("#")
        if not name or re.match(r"\w+:", name):
            return address
        path = pathlib.Path(os.path.relpath(ROOT / source.parent / name, ROOT))
        if path == pathlib.Path("docs/playground.md") and anchor.startswith("tour="):  # GitHub shows the page that lists them
            return relative(PLAYGROUND, page) + mark + anchor if self.engine else relative(target(path), page)
        to = target(path)
        if to.parts[0] == "source":
            self.sources.add(path)
        return relative(to, page) + mark + anchor

    def write_markdown(self, source):
        text = (ROOT / source).read_text()
        if source.suffix == ".ipynb":
            text = notebook_as_markdown(json.loads(text))
        body = subprocess.run(["cmark-gfm", "--unsafe", "-e", "table", "-e", "autolink", "-e", "strikethrough"],
                              input=text, check=True, capture_output=True, text=True).stdout
        page, seen = target(source), {}
        body = re.sub(r"<h(\d)>(.*?)</h\1>", lambda h: f'<h{h[1]} id="{slug(h[2], seen)}">{h[2]}</h{h[1]}>', body)
        body = re.sub(r'(href|src)="([^"]*)"', lambda a: f'{a[1]}="{self.link(source, page, a[2])}"', body)
        body = re.sub(r'(<code class="language-cpp">)(.*?)(</code>)', lambda c: c[1] + highlighted(c[2]) + c[3], body,
                      flags=re.S)
        body = self.live(page, self.without_answers(page, body))
        body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
        body = re.sub(r"<p>(<img [^>]*>)</p>", r'<p class="figure">\1</p>', body)
        title = plain(re.search(r"<h1[^>]*>(.*?)</h1>", body)[1])
        self.add_to_search(page, title, body)
        self.write(page, title, body)

    def add_to_search(self, page, title, body):
        """Enters the sections of a page. Pages of answers are not entered, so that no search gives an answer away."""
        _, *parts = [" ".join(plain(part).split()) for part in re.split(r'<h\d id="(.*?)">(.*?)</h\d>', body)]
        self.sections.append([str(page), title, list(zip(parts[::3], parts[1::3], parts[2::3]))])

    def write_search(self):
        shutil.copy(SITE / "search.js", self.folder)
        index = json.dumps(sorted(self.sections), ensure_ascii=False, separators=(",", ":"))
        (self.folder / "search_index.js").write_text(f"const search_index = {index};\n")

    def without_answers(self, page, body):
        """The page with links in place of its answers, which go to a page of their own."""
        own, listed, exercises = page.with_name(f"{page.stem}_answers.html"), [], itertools.count(1)

        def taken_out(found):
            """Below the questions stands Answers, below each exercise Answer."""
            word, answer = found.groups()
            number = next(exercises) if word == "Answer" else None
            anchor, heading = (number, f"Exercise {number}") if number else ("questions", "Five questions")
            listed.append(f'<h2 id="{anchor}">{heading}</h2>{answer}')
            return f'<p><a href="{own.name}#{anchor}">{word}</a></p>' if self.with_answers else ""

        body = re.sub(r"<details><summary>(Answers?)</summary>(.*?)</details>", taken_out, body, flags=re.S)
        if listed and self.with_answers:
            title = re.sub(r"<[^>]*>", "", re.search(r"<h1[^>]*>(.*?)</h1>", body)[1])
            self.write(own, f"{title}: answers",
                       f'<h1>{title}: answers</h1><p><a href="{page.name}">The lesson</a></p>{"".join(listed)}')
        return body

    def live(self, page, body):
        """The page, in which pictures under a comment "live: NAME" compute."""
        if not self.engine:
            return body
        size = f"{(self.folder / 'live.js').stat().st_size / 1e6:.1f} MB"
        computing, count = re.subn(r"<!-- live: (\w+) -->\s*(<p><img.*?</p>)", rf'<div data-live="\1" data-size="{size}">\2</div>', body,
                                   flags=re.S)
        return f'{computing}<script src="{relative("live.js", page)}"></script>' if count else body

    def write_engine(self):
        """What these pages load: the engine, the page that steps through a tape, and what shows them; and the playground,
        whose one file has all of it, since its engine runs in a worker, which may load no other file."""
        viewer = json.dumps((ROOT / "inspect/viewer.html").read_text())
        elements, lessons, nets, playground = ((LIVE / f"{name}.js").read_text() for name in ("elements", "lessons", "nets", "playground"))
        (self.folder / "live.js").write_text(f"{engine(self.engine.parent, double='live')}\nconst viewer_page = {viewer};\n(() => {{\n{elements}{lessons}}})();\n")

        def inert(name, text):
            return f'<script type="text/plain" id="{name}">{text.replace("</script", "<" + chr(92) + "/script")}</script>'

        self.write(PLAYGROUND, "Playground", f'<h1>Playground</h1><div class="live playground" id="playground_page"></div>'
                   f'{inert("engine", engine(self.engine.parent, double="live", float="live32"))}'
                   f'{inert("viewer", viewer)}<script>(() => {{\n{elements}{nets}{playground}}})();</script>', alone=True)

    def write_source(self, path):
        """A page of a file; of a folder, a page that lists its files, which get pages too."""
        if (ROOT / path).is_dir():
            files = sorted(file.relative_to(ROOT) for file in (ROOT / path).iterdir() if file.is_file())
            body = "".join(f'<li><a href="{relative(target(file), target(path))}">{file.name}</a></li>' for file in files)
            self.write(target(path), str(path), f"<h1>{path}</h1><ul>{body}</ul>")
            for file in files:
                self.write_source(file)
        elif path.suffix != ".md":
            code = html.escape((ROOT / path).read_text())
            code = highlighted(code) if path.suffix in (".h", ".cpp") else code
            self.write(target(path), str(path), f"<h1>{path}</h1><pre><code>{code}</code></pre>")

    def write_lab(self, pages):
        if pages is None:
            self.write(REPORTS / "index.html", "Reports of the laboratory", "<h1>Reports of the laboratory</h1><p>They take "
                       "minutes to compute: <code>./dev lab --report PAGES</code>, then <code>./dev site --lab PAGES</code>.</p>")
            return
        (self.folder / REPORTS).mkdir(parents=True, exist_ok=True)
        for page in pages.glob("*.html"):
            back = '<p><a href="../../index.html">tapegrad</a> &middot; <a href="index.html">Reports</a></p>'
            (self.folder / REPORTS / page.name).write_text(re.sub("<body>", f"<body>{back}", page.read_text(), count=1))

    def write_all(self, lab):
        for folder in DOCS:
            shutil.copytree(ROOT / folder / "pictures", self.folder / folder / "pictures", dirs_exist_ok=True)
        (self.folder / "style.css").write_text(self.style)
        if self.engine:
            self.write_engine()
        for source in [*ROOT.glob("*.md"), *(page for folder in DOCS for page in (ROOT / folder).glob("*.md")),
                       *(ROOT / "course").rglob("*.md"), ROOT / "bench/NOTES.md", ROOT / "examples/mini/README.md",
                       ROOT / "lab/README.md", ROOT / "lab/ledger/README.md", ROOT / "python/README.md",
                       *(ROOT / "python/notebooks").glob("*.ipynb")]:
            self.write_markdown(source.relative_to(ROOT))
        for picture in (ROOT / "course").rglob("*.svg"):
            shutil.copy(picture, self.folder / picture.parent.relative_to(ROOT))
        for path in sorted(self.sources):
            self.write_source(path)
        write_reference(self.folder / "reference", self.navigation(pathlib.Path("reference/index.html")))
        self.write_lab(lab)
        self.write_search()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path, nargs="?", default=ROOT / "build/site")
    parser.add_argument("--lab", type=pathlib.Path)
    parser.add_argument("--engine", type=pathlib.Path, help="what docs/live builds for browsers")
    parser.add_argument("--without-answers", action="store_true", help="a copy for students")
    arguments = parser.parse_args()
    if arguments.lab and not (arguments.lab / "index.html").exists():
        parser.error(f"{arguments.lab} has no index.html; ./dev lab --report {arguments.lab} writes it")
    Site(arguments.folder, not arguments.without_answers, arguments.engine).write_all(arguments.lab)
    print(arguments.folder / "index.html")

"""All lessons have one shape: lessons_test.py ROOT COUNT

docs/README.md numbers the lessons. Each begins with what one can do after it, has a picture, five
questions whose answers are one word, three exercises with answers, and a link to the next one."""

import pathlib
import re
import sys

CAN = re.compile(r"# [^\n]+\n\nAfter this lesson you can\n\n((?:- [^\n]+\n(?:  [^\n]+\n)*)+)\n")
QUESTIONS = re.compile(r"\n## Five questions\n\nEach answer is one word\.\n\n(.*?)\n"
                       r"<details><summary>Answers</summary>\n\n(.*?)\n</details>\n\n## Exercises\n", re.S)
ITEM = re.compile(r"^(\d+)\. (.*(?:\n   .*)*)", re.M)
FIVE = ["1", "2", "3", "4", "5"]


def lessons(root):
    """The pages in the order of the course."""
    return re.findall(r"^\d+\. \[[^\]]+\]\(([\w.]+\.md)\)", (root / "docs/README.md").read_text(), re.M)


def wrong_with(text, following):
    """What a lesson lacks."""
    wrong = []
    can = CAN.match(text)
    if not can or not 2 <= can[1].count("\n- ") + 1 <= 5:
        wrong.append("does not begin with what one can do after it, in two to five points")
    if not re.search(r"^!\[[^\]]+\]\(pictures/", text, re.M):
        wrong.append("has no picture")
    questions = QUESTIONS.search(text)
    if questions is None:
        wrong.append("has no five questions before its exercises")
    else:
        asked, answered = ITEM.findall(questions[1]), ITEM.findall(questions[2])
        if [number for number, _ in asked] != FIVE or [number for number, _ in answered] != FIVE:
            wrong.append("does not have five questions with five answers")
        if not all(question.endswith("?") for _, question in asked):
            wrong.append("has a question that asks nothing")
        wrong += [f"has an answer that is not one word: {answer}" for _, answer in answered if len(answer.split()) != 1]
    exercises = text.partition("\n## Exercises\n")[2]
    if re.findall(r"^\*\*(\d)\.\*\*", exercises, re.M) != ["1", "2", "3"] or \
            exercises.count("<details><summary>Answer</summary>") != 3:
        wrong.append("does not have three exercises with answers")
    end = r"\nBack to \[the index\]\(README\.md\)\.\n"
    if following:
        end = rf"\nNext: \[[^\]]+\]\({re.escape(following)}\)\.\n"
    if not re.search(end + r"\Z", text):
        wrong.append(f"does not end with a link to {following or 'the index'}")
    return wrong


def main(root, count):
    pages = lessons(root)
    assert len(pages) == count, pages
    texts = {page: (root / "docs" / page).read_text() for page in pages}
    found = [f"docs/{page} {wrong}" for page, following in zip(pages, [*pages[1:], None])
             for wrong in wrong_with(texts[page], following)]
    first, second = texts[pages[0]], pages[1]  # what lacks something must be found
    answer = QUESTIONS.search(first)[2].splitlines()[0]
    for change in (("After this lesson you can", "You will"), ("\n5. ", "\n6. "), ("![", "!("), ("**2.**", "**4.**"),
                   (answer, answer.replace("1. ", "1. a ")), (f"]({second})", "](other.md)")):
        assert change[0] in first and wrong_with(first.replace(*change), second), change
    if found:
        sys.exit("\n".join(found))


main(pathlib.Path(sys.argv[1]), int(sys.argv[2]))

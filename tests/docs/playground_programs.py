"""The programs that the playground writes for its states, in one file: playground_programs.py LIVE FILE. Its first argument is the number of a state."""

import pathlib
import sys

from playground_states import STATES, ask

PRINTED = 50  # steps

precision = ask(sys.argv[1], {"do": "choices"})[0]["precision"]
requests = [{"do": "program", "settings": {**settings, "precision": precision}, "count": PRINTED} for settings in STATES.values()]
programs = [answer["source"] for answer in ask(sys.argv[1], *requests)]
beginning = programs[0].split("int main()")[0]
assert all(program.startswith(beginning) for program in programs)
code = beginning + "".join(program[len(beginning):].replace("int main()", f"static void program_{i}()") for i, program in enumerate(programs))
calls = "".join(f"  if (chosen == {i}) program_{i}();\n" for i in range(len(programs)))
pathlib.Path(sys.argv[2]).write_text(f"{code}\nint main(int, char** argv) {{\n  const int chosen = std::stoi(argv[1]);\n{calls}}}\n")

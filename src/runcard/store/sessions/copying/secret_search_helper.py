"""A helper process that searches texts for clues to secrets; see `searching.py`.

It is started as a script without site-packages, so this file imports the standard library only. The arguments are the
patterns. It is asked on stdin (eight bytes of length, then the text) and answers on stdout (one byte: 1 when one of the
patterns is found, else 0) until stdin ends.
"""

import re
import struct
import sys

QUESTION = struct.Struct("=Q")
FOUND, NOTHING = b"\1", b"\0"


def main() -> None:
    patterns = [re.compile(pattern.encode("ascii")) for pattern in sys.argv[1:]]
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    while header := questions.read(QUESTION.size):
        text = questions.read(*QUESTION.unpack(header))
        answers.write(FOUND if any(pattern.search(text) for pattern in patterns) else NOTHING)
        answers.flush()


if __name__ == "__main__":
    main()

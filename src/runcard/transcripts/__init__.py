"""Session files of other agent tools: what they are called, where they are, and the model calls in them.

    calls            a call, who made it, and a compact table of many calls in which each call counts once
    line_reader      the lines of a file of any size, in flat memory
    content          what was read from a file, and what could not be read
    claude_code, codex, gemini, opencode   one module or package for each tool: its folders, its files, its format
    activity         what the files say beside the calls: agents, what they said and did, what went wrong
    sources          the tools by name; finding their files
    reading          reading many files, on all cores

The files belong to the tools: they are read and never changed. Everything in them is hostile: no order, no field and no type is
relied on, links are not followed, and a line that cannot be read costs no other line.
"""

"""Tools that run at the vendor and are billed beside tokens, such as web search: their names and how often they were used.

Each vendor's module counts them in its replies. A tool that costs nothing, or only its tokens, is left out; one that is
not known counts, so that its cost is not silently taken for zero. Only names and numbers are read, never what was searched.
"""

from collections import Counter
from collections.abc import Iterable

from runcard.accounting.vendors.reply_fields import ReplyFields

WEB_SEARCH, FILE_SEARCH = "web_search", "file_search"
_LONGEST_NAME = 64
_MOST_NAMES = 20  # of different tools in one reply

# Tools of Anthropic that are free, but for their tokens; one that only helps another is counted with that.
_FREE_AT_ANTHROPIC = ("web_fetch", "tool_search_tool", "advisor", "memory")
# Items of OpenAI's Responses that the user's program carries out, or that cost only tokens.
_FREE_AT_OPENAI = {
    *("function_call", "custom_tool_call", "mcp_call", "computer_call"),
    *("local_shell_call", "apply_patch_call", "tool_search_call"),
}
_NO_SEARCH = {"open_page", "find_in_page"}  # what a web search may do besides searching, without a charge
_GROUNDING = {
    "google_search": ("webSearchQueries", "web_search_queries"),
    "google_image_search": ("imageSearchQueries", "image_search_queries"),
    "vertex_ai_search": ("retrievalQueries", "retrieval_queries"),
}
_FREE_AT_GOOGLE = {"url_context", "code_execution", "mcp_server", "function"}


def anthropic_tools(reply: ReplyFields, usage: ReplyFields) -> dict[str, int]:
    """By the counts in the usage; other tools by the blocks of the message."""
    counts: Counter[str] = Counter()
    counted = usage.part("server_tool_use")
    for name in counted.data:
        counts[_short(name, "_requests")] += counted.count(name) or 0
    blocks = Counter(
        _short(block.text("name") or "unnamed")
        for block in reply.optional_parts("content")
        if block.text("type") == "server_tool_use"
    )
    counts |= Counter({name: count for name, count in blocks.items() if name not in counts})
    for name in [name for name in counts if "code_execution" in name]:
        # It is free for messages that search or fetch.
        used = counts.pop(name)
        if not any(tool.startswith(("web_search", "web_fetch")) for tool in counts):
            counts["code_execution"] += used
    return _used(counts, _FREE_AT_ANTHROPIC)


def openai_tools(reply: ReplyFields) -> dict[str, int]:
    """By the items in the output of a response; a search model of Chat Completions searches with every call."""
    counts: Counter[str] = Counter()
    is_preview = any(
        (tool.text("type") or "").startswith("web_search_preview") for tool in reply.optional_parts("tools")
    )
    for item in reply.optional_parts("output"):
        kind = item.text("type") or ""
        if not kind.endswith("_call") or kind in _FREE_AT_OPENAI:
            continue
        if kind == "web_search_call" and item.optional_part("action").text("type") in _NO_SEARCH:
            continue
        name = _short(kind, "_call")
        counts[f"{name}_preview" if name == WEB_SEARCH and is_preview else name] += 1
    model = reply.text("model") or ""
    if reply.has("choices") and "-search-preview" in model:
        counts["web_search_preview"] += 1
    elif reply.has("choices") and "-search-api" in model:
        counts[WEB_SEARCH] += 1
    return _used(counts)


def google_tools(reply: ReplyFields, usage: ReplyFields) -> dict[str, int]:
    """By the queries in the grounding of candidates, or by the counts of an interaction."""
    counts: Counter[str] = Counter()
    for tool in usage.optional_parts("grounding_tool_count", "groundingToolCount"):
        counts[_short(tool.text("type") or "unnamed")] += tool.count("count") or 0
    for candidate in reply.optional_parts("candidates"):
        grounding = candidate.optional_part("groundingMetadata", "grounding_metadata")
        for name, fields in _GROUNDING.items():
            queries = grounding.get(*fields)
            counts[name] += len(queries) if isinstance(queries, list | tuple) else 0
        chunks = grounding.optional_parts("groundingChunks", "grounding_chunks")
        if any(chunk.has("maps") and chunk.get("maps") is not None for chunk in chunks):
            counts["google_maps"] += 1
    return _used(counts, _FREE_AT_GOOGLE)


def given_tools(usage: ReplyFields) -> dict[str, int]:
    """The numbers that the caller gives by hand."""
    tools = usage.part("server_tools")
    return _used(Counter({_short(name): tools.count(name) or 0 for name in tools.data}))


def _used(counts: "Counter[str]", free: Iterable[str] = ()) -> dict[str, int]:
    used = {name: count for name, count in counts.items() if count and not name.startswith(tuple(free))}
    first = dict(list(used.items())[:_MOST_NAMES])
    rest = sum(used.values()) - sum(first.values())
    return first | ({"other tools": rest} if rest else {})


def _short(name: object, ending: str = "") -> str:
    return str(name).removesuffix(ending)[:_LONGEST_NAME]

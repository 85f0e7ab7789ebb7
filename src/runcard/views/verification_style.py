"""The style sheet of a verification report: light, dark, printed, and on a narrow screen, where each row is a card."""

from typing import Final

STYLE: Final = """\
:root { --bg: #fff; --ink: #1d1f22; --muted: #5b6068; --line: #d9d9d3; --soft: #f4f4f0; --good: #17693b; --warning: #7a5200; --bad: #a8221b; color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --bg: #141619; --ink: #e9e9e6; --muted: #a4aab2; --line: #3a3f46; --soft: #1f2328; --good: #74d39b; --warning: #efc25c; --bad: #ff938a; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 28px 24px 56px; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { margin: 0 0 .7rem; color: var(--muted); }
.lead { font-size: 1.1rem; color: var(--ink); }
table { width: 100%; border-collapse: collapse; margin-top: 1.2rem; }
th, td { text-align: left; vertical-align: top; padding: 9px 14px 9px 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { color: var(--muted); font-weight: 600; font-size: .9rem; white-space: nowrap; }
th, td { min-width: 8.5rem; }
td:last-child, th:last-child { padding-right: 0; min-width: 15rem; }
.name, pre { font-family: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", monospace; font-size: .875em; }
b { display: block; }
b.good { color: var(--good); } b.warning { color: var(--warning); } b.bad { color: var(--bad); }
ul { margin: 0; padding-left: 1.1rem; }
li { margin-bottom: .3rem; overflow-wrap: anywhere; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: 10px 12px; white-space: pre-wrap; overflow-wrap: anywhere; }
@media screen and (max-width: 760px) {
  main { padding: 20px 16px 40px; }
  thead { display: none; }
  table, tbody, tr, td { display: block; }
  tr { border: 1px solid var(--line); border-radius: 8px; padding: 8px 12px; margin-bottom: 12px; }
  td, td:last-child { border: 0; padding: 5px 0; min-width: 0; }
  td::before { content: attr(data-label); display: block; color: var(--muted); font-size: .8rem; }
}
@media print {
  :root { --bg: #fff; --ink: #000; --muted: #444; --line: #bbb; --soft: #fff; --good: #17693b; --warning: #7a5200; --bad: #a8221b; color-scheme: light; }
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  th, td, td:last-child, th:last-child { min-width: 0; }
  tr, li { break-inside: avoid; }
  thead { display: table-header-group; }
}
"""

"""The live page: the server writes all of it, a small script keeps it up to date."""

import html
import json
from typing import Any

STYLE = """
:root{color-scheme:light dark;
--ink:#16202b;--dim:#5d6b7a;--paper:#f6f7f9;--card:#fff;--line:#dfe4ea;
--a:#1668c7;--b:#c2571a;--ok:#177245;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e8edf2;--dim:#93a1b0;--paper:#10151b;--card:#19212a;
--line:#2b3642;--a:#6fb1ff;--b:#ff9a5c;--ok:#5fd08f;--bad:#ff8a80}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);
font:15px/1.45 system-ui,sans-serif}
main{max-width:1180px;margin:0 auto;padding:16px}
h1{font-size:20px;margin:4px 0 12px}h2{font-size:17px;margin:20px 0 8px;display:flex;gap:8px;
flex-wrap:wrap;align-items:center}h3{font-size:13px;margin:0 0 6px;color:var(--dim);font-weight:600}
.tag{font-size:12px;border:1px solid var(--line);border-radius:99px;padding:1px 9px;
color:var(--dim)}
.grid{display:grid;gap:12px;grid-template-columns:repeat(auto-fill,minmax(250px,1fr))}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px;
min-width:0}
.wide{grid-column:1/-1}.two{grid-column:span 2}
@media(max-width:620px){.two{grid-column:1/-1}main{padding:10px}.bars{display:none}}
.big{font-size:26px;font-variant-numeric:tabular-nums;line-height:1.15}
.dim{color:var(--dim)}.ok{color:var(--ok)}.bad{color:var(--bad)}
dl{display:grid;grid-template-columns:1fr auto;gap:2px 10px;margin:0}dd{margin:0;text-align:right;
font-variant-numeric:tabular-nums}dt{color:var(--dim)}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:14px}
th,td{padding:3px 6px;text-align:right;border-bottom:1px solid var(--line)}
th:first-child,td:first-child{text-align:left;overflow-wrap:anywhere;
min-width:5em}th{color:var(--dim);font-weight:600}
svg{width:100%;height:auto;display:block}.scroll{overflow-x:auto}
"""


def write_page(summaries: list[dict[str, Any]]) -> str:
    """Return the page of these agents, complete without the script."""
    sections = "".join(_write_agent(one) for one in summaries)
    data = json.dumps(summaries).replace("<", "\\u003c")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<link rel="icon" href="data:,"><title>heavybandits</title>'
        f"<style>{STYLE}</style></head><body><main><h1>Decision service "
        '<span class="tag" id="link">live</span></h1>'
        f'<div id="agents">{sections}</div></main>'
        f'<script type="application/json" id="data">{data}</script>'
        '<script src="live.js"></script></body></html>'
    )


def _write_agent(one: dict[str, Any]) -> str:
    """Return what is shown of an agent before the script runs."""
    counts = one["counts"]
    rows = "".join(
        f"<tr><td>{html.escape(row['action'])}</td><td>{row['plays']}</td>"
        f"<td>{row['rewards']}</td><td>{_number(row['mean'])}</td>"
        f"<td>{_number(row['low'])} to {_number(row['high'])}</td></tr>"
        for row in one["actions"]
    )
    return (
        f"<h2>{html.escape(one['agent'])} <span class='tag'>{one['policy']}</span>"
        f"<span class='tag'>{one['mode']}</span></h2><div class='grid'>"
        f"<div class='card'><h3>Decisions</h3><div class='big'>{counts['decisions']}</div></div>"
        f"<div class='card'><h3>Rewards</h3><div class='big'>{counts['applied']}</div></div>"
        "<div class='card wide scroll'><table><tr><th>action</th><th>plays</th><th>rewards</th>"
        f"<th>mean reward</th><th>95% interval</th></tr>{rows}</table></div></div>"
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"

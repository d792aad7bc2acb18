"""The frame of report.html: one document with its style inside. Colours are variables, once for light, once for dark."""

from __future__ import annotations

_LIGHT = """--page:#f7f7f5;--card:#fff;--ink:#1d2126;--muted:#5d6670;--rule:#d9dcdf;--good:#17703a;--bad:#b3261e;--odd:#8a5a00;
--admitted:#2563c9;--refused:#c2700c;--open:#7a3fb0;--plain:#78828c;--phase0:#e3e9f2;--phase1:#eef1f6;--fault:#f2d0c4;
--onfault:#5e2413;--load:#eef0f2;--wait:#c3cad1;--pod:#3d8b7d"""
_DARK = """--page:#14171a;--card:#1c2024;--ink:#e6e9ec;--muted:#9aa4ae;--rule:#343a40;--good:#5cc98a;--bad:#ff8a80;--odd:#e3b341;
--admitted:#6ea8ff;--refused:#f0a24a;--open:#c79bf2;--plain:#98a2ac;--phase0:#27313f;--phase1:#20262e;--fault:#5a2f24;
--onfault:#ffd9cc;--load:#23282d;--wait:#4a525a;--pod:#5fbfae"""

_STYLE = f"""
:root{{color-scheme:light dark;{_LIGHT}}}
@media (prefers-color-scheme:dark){{:root{{{_DARK}}}}}
*{{box-sizing:border-box}}
body{{margin:0 auto;max-width:1180px;padding:24px 20px 60px;background:var(--page);color:var(--ink);
 font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}}
h1{{font-size:1.15rem;margin:.4rem 0}} h1 code{{overflow-wrap:anywhere}}
h2{{font-size:1.2rem;margin:2.2rem 0 .3rem}} h3{{font-size:1rem;margin:1.4rem 0 .5rem}}
p{{margin:.4rem 0}} a{{color:inherit}}
code,pre{{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.86em}}
pre{{margin:.4rem 0;padding:10px 12px;background:var(--load);border-radius:6px;overflow:auto;max-height:28rem}}
.muted{{color:var(--muted)}} .claim{{font-size:1.03rem;max-width:75ch}}
.word{{font-weight:600}} .word.good{{color:var(--good)}} .word.bad{{color:var(--bad)}} .word.odd{{color:var(--odd)}}
.badge{{display:inline-block;margin:0;padding:3px 12px;border-radius:6px;font-weight:700;color:var(--card)}}
.badge.good{{background:var(--good)}} .badge.bad{{background:var(--bad)}}
.card{{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:12px 14px;margin:.7rem 0}}
.card.bad{{border-color:var(--bad)}} .scroll{{overflow-x:auto}}
.results{{display:flex;flex-wrap:wrap;gap:6px 26px;margin:.6rem 0}}
.legend{{display:flex;flex-wrap:wrap;gap:4px 20px;font-size:.86rem}} .key{{width:12px;height:12px;vertical-align:-1px}}
.verdict{{margin:.35rem 0;padding-left:2px}} summary{{cursor:pointer}} p.verdict{{padding-left:1.05rem}}
.verdict>summary{{padding-left:1.1rem;text-indent:-1.1rem}} .tight{{white-space:nowrap}}
.panels{{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,460px),1fr));gap:12px}}
figure{{margin:0!important}} figure p{{font-size:.86rem}}
table{{border-collapse:collapse;width:100%;margin:.4rem 0}} tbody tr{{border-top:1px solid var(--rule)}}
th{{text-align:left;font-weight:600;color:var(--muted);font-size:.86rem}} td,th{{padding:5px 14px 5px 0;vertical-align:top}}
svg{{display:block;width:100%;height:auto}} svg.timeline{{min-width:780px}} figure svg{{max-width:620px}} svg.key{{display:inline-block}}
svg text{{font-size:12px;fill:var(--ink)}} svg .tick{{fill:var(--muted);font-size:11px}}
.grid{{stroke:var(--rule);stroke-width:.6}} .axis{{stroke:var(--muted);stroke-width:.8}}
.border{{stroke:var(--muted);stroke-width:.8;stroke-dasharray:2 4}}
.phase0{{fill:var(--phase0)}} .phase1{{fill:var(--phase1)}} .load{{fill:var(--load)}}
.wait{{fill:var(--wait)}} .wait.bad{{fill:var(--bad)}}
.fault{{fill:var(--fault)}} .raising{{fill:var(--fault);opacity:.45}} svg .on-fault{{fill:var(--onfault);font-size:11px}}
.torn{{fill:none;stroke:var(--bad);stroke-width:2}}
.admitted{{fill:var(--admitted)}} .refused{{fill:var(--refused)}} .open{{fill:var(--open)}} .plain{{fill:var(--plain)}}
.failed{{fill:none;stroke:var(--bad);stroke-width:1.8}}
.held{{stroke:var(--plain);stroke-width:3;opacity:.5}} .admitted-line{{stroke:var(--admitted)}} .open-line{{stroke:var(--open)}}
.refused-line{{stroke:var(--refused)}} .ring{{fill:none;stroke:var(--bad);stroke-width:1.6}}
.pod{{stroke:var(--pod);stroke-width:1.6}} .pod-now{{fill:var(--pod)}} .pod-old{{fill:var(--card);stroke:var(--bad);stroke-width:1.8}}
.proof{{fill:var(--bad)}}
.key.wide{{width:30px}} .band{{opacity:.75}} .spend,.told{{fill:none;stroke-width:2}} .told{{stroke:var(--muted);stroke-width:5;opacity:.4}}
.spend0{{stroke:var(--admitted)}} .spend1{{stroke:var(--refused);stroke-dasharray:7 4}}
.spend2{{stroke:var(--open);stroke-dasharray:2 4}} .spend3{{stroke:var(--pod);stroke-dasharray:12 3 2 3}}
"""


def whole(title: str, body: str) -> str:
    """`title` and `body` are HTML already."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{_STYLE}</style></head><body>{body}</body></html>\n"
    )

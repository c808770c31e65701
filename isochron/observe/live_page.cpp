#include "isochron/observe/live_page.h"

namespace isochron::observe {
namespace {

constexpr char kPage[] = R"page(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>isochron watch</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { --ink:#1d2430; --soft:#667085; --paper:#fff; --line:#e4e7ec; --card:#f8f9fb; --bad:#b42318; }
@media (prefers-color-scheme: dark) { :root { --ink:#e6e9ef; --soft:#98a2b3; --paper:#12161d; --line:#2a313c; --card:#1a2029; --bad:#f97066; } }
body { margin:0; font:15px/1.45 system-ui,sans-serif; color:var(--ink); background:var(--paper); }
main { max-width:980px; margin:0 auto; padding:24px 20px 60px; }
h1 { font-size:17px; margin:0 0 2px; } h2 { font-size:14px; margin:28px 0 8px; color:var(--soft); font-weight:600; }
code { font:13px ui-monospace,monospace; color:var(--soft); word-break:break-all; }
.verdict,li { overflow-wrap:anywhere; } .verdict { font-size:20px; font-weight:600; margin:18px 0 6px; } .verdict.bad { color:var(--bad); }
ul { margin:0; padding-left:18px; color:var(--soft); }
.facts { display:flex; gap:26px; flex-wrap:wrap; margin-top:14px; } .facts b { display:block; font-size:18px; }
.facts span { color:var(--soft); font-size:12px; }
.row { display:grid; grid-template-columns:minmax(74px,max-content) 1fr 74px; white-space:nowrap; gap:10px; align-items:center; font-size:13px; }
.bar { display:flex; height:15px; border-radius:3px; overflow:hidden; background:var(--card); }
.bar i { display:block; height:100%; } .num { text-align:right; font-variant-numeric:tabular-nums; }
.legend { display:flex; gap:14px; flex-wrap:wrap; font-size:12px; color:var(--soft); margin-top:8px; }
.legend i { display:inline-block; width:10px; height:10px; border-radius:2px; margin-right:5px; }
.charts { display:grid; grid-template-columns:repeat(auto-fit,minmax(280px,1fr)); gap:14px; }
.chart { background:var(--card); border:1px solid var(--line); border-radius:6px; padding:10px 12px; }
.chart header { display:flex; justify-content:space-between; font-size:12px; color:var(--soft); } svg { width:100%; height:70px; display:block; }
</style></head><body><main>
<h1>isochron watch</h1><code id="command"></code>
<div class="verdict" id="verdict">waiting for the first reading</div><ul id="detail"></ul>
<div class="facts" id="facts"></div>
<h2>Epochs, by what they were spent on</h2><div id="epochs"></div><div class="legend" id="legend"></div>
<h2>Resources (dotted: where epochs end)</h2><div class="charts" id="charts"></div>
</main><script>
const colours = {start:'#8e6bbf',build:'#a88bd6',trace:'#7048a8',compile:'#5b3a8c',init:'#c39bd3',allocate:'#9aa5b1',input:'#e69f3c',
 forward:'#3b82c4',backward:'#2563a8',update:'#5aa9d6',metrics:'#4fb0a5',callback:'#d65f5f',checkpoint:'#8d6e3f',log:'#b8a37a',
 validate:'#5aa469',sync:'#c2588f',other:'#b6bec9'};
const $ = id => document.getElementById(id);
const el = (tag, text, cls) => { const e = document.createElement(tag); if (text !== undefined) e.textContent = text; if (cls) e.className = cls; return e; };
const time = s => s >= 3600 ? (s/3600).toFixed(1)+' h' : s >= 200 ? (s/60).toFixed(1)+' min' : s >= 10 ? s.toFixed(0)+' s' : s.toFixed(2)+' s';
function fact(name, value) { const d = el('div'); d.append(el('b', value), el('span', name)); return d; }
function epochRow(name, seconds, phases, longest) {
  const row = el('div', undefined, 'row'), bar = el('div', undefined, 'bar');
  const known = Object.values(phases).reduce((a, b) => a + b, 0);
  const parts = Object.entries(phases).sort((a, b) => b[1] - a[1]);
  if (known < seconds) parts.push(['other', seconds - known]);
  for (const [phase, s] of parts) {
    const piece = el('i'); piece.style.width = 100 * s / longest + '%'; piece.style.background = colours[phase] || colours.other;
    piece.title = phase + ' ' + time(s); bar.append(piece);
  }
  row.append(el('span', name), bar, el('span', time(seconds), 'num')); return row;
}
function chart(curve, borders, end) {
  const box = el('div', undefined, 'chart'), head = el('header'), points = curve.points;
  const last = points.length ? points[points.length - 1][1] : 0, top = Math.max(1e-9, ...points.map(p => p[1]));
  head.append(el('span', curve.name), el('span', points.length ? (last < 10 ? last.toFixed(2) : last.toFixed(0)) + ' (max ' + (top < 10 ? top.toFixed(2) : top.toFixed(0)) + ')' : 'not measured'));
  const ns = 'http://www.w3.org/2000/svg', svg = document.createElementNS(ns, 'svg');
  svg.setAttribute('viewBox', '0 0 300 70'); svg.setAttribute('preserveAspectRatio', 'none');
  for (const b of borders) { const l = document.createElementNS(ns, 'line'); const x = 300 * b / end;
    for (const [k, v] of [['x1', x], ['x2', x], ['y1', 0], ['y2', 70], ['stroke', 'currentColor'], ['stroke-opacity', '.25'], ['stroke-dasharray', '2 3']]) l.setAttribute(k, v); svg.append(l); }
  const path = document.createElementNS(ns, 'path');
  path.setAttribute('d', points.map((p, i) => (i ? 'L' : 'M') + (300 * p[0] / end).toFixed(1) + ' ' + (66 - 62 * p[1] / top).toFixed(1)).join(''));
  path.setAttribute('fill', 'none'); path.setAttribute('stroke', '#3b82c4'); path.setAttribute('stroke-width', '1.5');
  path.setAttribute('vector-effect', 'non-scaling-stroke'); svg.append(path); box.append(head, svg); return box;
}
function draw(s) {
  $('command').textContent = s.command; $('verdict').textContent = s.verdict ? s.verdict[0].toUpperCase() + s.verdict.slice(1) : 'nothing to report yet';
  $('verdict').className = 'verdict' + (/stuck|died/.test(s.verdict) ? ' bad' : '');
  $('detail').replaceChildren(...s.detail.map(d => el('li', d)));
  const facts = [fact('running for', time(s.seconds)), fact('epochs done', s.epochs.length + (s.planned ? ' of ' + s.planned : ''))];
  if (s.doing) facts.push(fact('doing now', s.doing));
  if (s.framework) facts.push(fact('framework', s.framework));
  $('facts').replaceChildren(...facts);
  const rows = s.epochs.slice(-40), openSeconds = s.open ? Math.max(0, s.seconds - s.open.start) : 0;
  const longest = Math.max(openSeconds, ...rows.map(e => e.seconds), 1e-9);
  const drawn = rows.map(e => epochRow('epoch ' + e.index, e.seconds, e.phases, longest));
  if (s.open) drawn.push(epochRow('epoch ' + s.open.index + ' …', openSeconds, {}, longest));
  $('epochs').replaceChildren(...drawn);
  const used = new Set(rows.flatMap(e => Object.keys(e.phases)));
  $('legend').replaceChildren(...[...used].map(p => { const l = el('span'), i = el('i'); i.style.background = colours[p]; l.append(i, p); return l; }));
  $('charts').replaceChildren(...s.curves.map(c => chart(c, s.epochs.map(e => e.start + e.seconds), Math.max(s.seconds, 1))));
}
let failures = 0;
async function refresh() {
  try { const r = await fetch('state' + location.search); if (!r.ok) throw r.status; draw(await r.json()); failures = 0; }
  catch (e) { if (++failures > 3) { $('verdict').textContent = 'the run has ended, or the connection is lost'; return; } }
  setTimeout(refresh, 1000);
}
refresh();
</script></body></html>
)page";

}  // namespace

std::string live_page() { return kPage; }

}  // namespace isochron::observe

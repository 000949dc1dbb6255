"use strict";
// The live page: redraws the agents each second from the events of the server.
const COLOURS = ["#1668c7", "#c2571a", "#177245", "#8a3ffc", "#b3261e", "#0f766e", "#a16207", "#be185d"];
const area = document.getElementById("agents");
const link = document.getElementById("link");

const escape = (text) =>
  String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const number = (x, digits = 4) =>
  x === null || x === undefined || Number.isNaN(x) ? "–"
    : Math.abs(x) >= 1e5 ? x.toExponential(2)
    : Number.isInteger(x) ? x.toLocaleString("en") : Number(x.toPrecision(digits)).toString();
const percent = (x) => `${(100 * x).toFixed(1)}%`;
const card = (title, body, kind = "") => `<div class="card ${kind}"><h3>${title}</h3>${body}</div>`;
const big = (text, dim = "") => `<div class="big">${text}</div><div class="dim">${dim}</div>`;
const list = (pairs) =>
  `<dl>${pairs.map(([k, v]) => `<dt>${k}</dt><dd>${v}</dd>`).join("")}</dl>`;

// A line per series over the last seconds.
function lines(series, height = 90) {
  const width = 520, most = Math.max(1e-9, ...series.flatMap((s) => s.values));
  const paths = series.map((s) => {
    const step = width / Math.max(1, s.values.length - 1);
    const points = s.values.map((y, i) => `${(i * step).toFixed(1)},${(height - 4 - (y / most) * (height - 16)).toFixed(1)}`);
    return `<polyline fill="none" stroke="${s.colour}" stroke-width="2" points="${points.join(" ")}"/>`;
  });
  return `<svg viewBox="0 0 ${width} ${height}" role="img"><text x="2" y="11" font-size="11" fill="currentColor" opacity=".6">${number(most, 3)}</text>${paths.join("")}</svg>`;
}

// Share of each action over time, stacked, in buckets of five seconds.
function shares(seconds, names) {
  const buckets = new Map();
  for (const one of seconds) {
    const key = Math.floor(one.time / 5), into = buckets.get(key) || {};
    for (const [name, n] of Object.entries(one.actions)) into[name] = (into[name] || 0) + n;
    buckets.set(key, into);
  }
  const list = [...buckets.values()].filter((b) => Object.keys(b).length), width = 520, height = 110;
  const each = width / Math.max(1, list.length), bars = [];
  list.forEach((bucket, i) => {
    const total = Object.values(bucket).reduce((a, b) => a + b, 0);
    let y = 0;
    names.forEach((name, n) => {
      const h = (height * (bucket[name] || 0)) / total;
      bars.push(`<rect x="${(i * each).toFixed(1)}" y="${y.toFixed(1)}" width="${(each + 0.3).toFixed(1)}" height="${h.toFixed(1)}" fill="${COLOURS[n % COLOURS.length]}"/>`);
      y += h;
    });
  });
  const key = names.slice(0, 8).map((n, i) => `<span style="color:${COLOURS[i]}">■</span> ${escape(n)}`).join(" &nbsp;");
  return `<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" style="height:110px" role="img">${bars.join("")}</svg><div class="dim">${key}</div>`;
}

function histogram(bins) {
  const most = Math.max(1, ...bins), each = 52;
  const bars = bins.map((n, i) => `<rect x="${i * each + 3}" y="${60 - (56 * n) / most}" width="${each - 6}" height="${(56 * n) / most}" fill="var(--a)"/>`);
  return `<svg viewBox="0 0 520 76" role="img">${bars.join("")}<text x="0" y="74" font-size="12" fill="currentColor">0</text><text x="510" y="74" font-size="12" fill="currentColor">1</text></svg>`;
}

// The mean with its interval, as a bar on a common scale.
function interval(row, low, high) {
  if (row.low === null || high <= low) return "";
  const at = (x) => (100 * (x - low)) / (high - low);
  return `<svg viewBox="0 0 100 10" preserveAspectRatio="none" style="height:10px;min-width:90px"><line x1="${at(row.low)}" x2="${at(row.high)}" y1="5" y2="5" stroke="var(--a)" stroke-width="2"/><circle cx="${at(row.mean)}" cy="5" r="3" fill="var(--a)"/></svg>`;
}

function actions(rows) {
  const ends = rows.filter((r) => r.low !== null);
  const low = Math.min(...ends.map((r) => r.low)), high = Math.max(...ends.map((r) => r.high));
  const body = rows.slice(0, 20).map((r) =>
    `<tr><td>${escape(r.action)}</td><td>${number(r.plays)}</td><td>${number(r.rewards)}</td><td>${number(r.mean, 3)}</td><td>${number(r.low, 3)} to ${number(r.high, 3)}</td><td class="bars">${interval(r, low, high)}</td></tr>`);
  return `<div class="scroll"><table><tr><th>action</th><th>plays</th><th>rewards</th><th>mean</th><th>95% interval</th><th class="bars"></th></tr>${body.join("")}</table></div>`;
}

function uplift(one) {
  const u = one.uplift;
  if (u.difference === null)
    return `<div class="dim">Needs 20 rewards in each group: policy ${number(u.first.rewards)}, hold-out ${number(u.second.rewards)}.</div>`;
  const kind = u.low > 0 ? "ok" : u.high < 0 ? "bad" : "";
  return big(`<span class="${kind}">${u.difference > 0 ? "+" : ""}${number(u.difference, 3)}</span>`,
    `per decision, 95% interval ${number(u.low, 3)} to ${number(u.high, 3)}; valid at a time fixed in advance`) +
    list([["policy", `${number(u.first.mean, 3)} (${number(u.first.rewards)})`], ["hold-out", `${number(u.second.mean, 3)} (${number(u.second.rewards)})`]]);
}

function rollout(r) {
  if (!r) return "";
  return card("Roll-out", list([["stage", escape(r.stage)], ["challenger", escape(r.policy.policy)], ["share", percent(r.share)],
    ["agreed", r.watched ? percent(r.agreed / r.watched) : "–"], ["difference", number(r.difference, 3)], ["interval", `${number(r.low, 3)} to ${number(r.high, 3)}`]]));
}

function draw(one) {
  const s = one.seconds.slice(0, -1), last = s.slice(-10), c = one.counts, k = one.counters;
  const rate = (name) => last.reduce((a, b) => a + b[name], 0) / Math.max(1, last.length);
  const times = last.map((b) => b.milliseconds).filter((x) => x !== null);
  const latency = times.length ? times.reduce((a, b) => a + b, 0) / times.length : null;
  const names = one.actions.map((r) => r.action);
  const top = one.largest.map((r) => `<tr><td>${escape(r.action)}</td><td>${number(r.reward)}</td><td class="dim">${escape(r.ticket.split(":")[1])}</td></tr>`).join("");
  const agreed = one.agreed[1] ? [["would have agreed", percent(one.agreed[0] / one.agreed[1])]] : [];
  return `<h2>${escape(one.agent)} <span class="tag">${escape(one.policy)}</span><span class="tag">${one.mode}</span><span class="tag">version ${one.version}</span><span class="tag">${one.durable ? "durable" : "in memory"}</span>${one.ready ? "" : '<span class="tag bad">not ready</span>'}</h2>
  <div class="grid">
  ${card("Decisions per second", big(number(rate("decisions"), 3), `${number(c.decisions)} in all`))}
  ${card("Rewards per second", big(number(rate("rewards"), 3), `${number(c.applied)} in all`))}
  ${card("Latency", big(latency === null ? "–" : `${number(latency, 3)} ms`, `${number(c.commits ? c.rows / c.commits : 0, 3)} requests per batch`))}
  ${card("Policy against hold-out", uplift(one))}
  ${card(`Last two minutes: <span style="color:${COLOURS[0]}">decisions</span> and <span style="color:${COLOURS[1]}">rewards</span> per second`, lines([{ values: s.map((b) => b.decisions), colour: COLOURS[0] }, { values: s.map((b) => b.rewards), colour: COLOURS[1] }]), "two")}
  ${card("Share of each action", shares(one.seconds, names), "two")}
  ${card("Actions", actions(one.actions), "wide")}
  ${card("Tickets", list([["pending", number(k.pending)], ["expired", number(k.expired)], ["late", number(c.late)], ["duplicate", number(c.duplicate)], ["rejected", number(c.rejected)], ["repeated decisions", number(c.repeated)], ["queue", number(one.queue)]]))}
  ${card("Tails", list([["tail index", number(one.tail_index, 3)], ["threshold", number(one.threshold, 3)], ["share clipped", percent(one.truncated_share)], ["restarts", number(one.restarts)], ...agreed]))}
  ${card("Propensities", histogram(one.propensities) + `<div class="dim">effective sample size ${number(Math.round(one.effective_sample_size))}</div>`)}
  ${card("Largest rewards", `<table><tr><th>action</th><th>reward</th><th>ticket</th></tr>${top}</table>`)}
  ${card("Settings", list([["hold-out", percent(one.holdout)], ["baseline", escape(one.baseline)], ["marks", escape(one.marks.join(", ") || "none")], ...Object.entries(one.groups).map(([g, n]) => [`group ${escape(g)}`, number(n)])]))}
  ${rollout(one.rollout)}
  </div>`;
}

function show(summaries) {
  area.innerHTML = summaries.map(draw).join("");
}

show(JSON.parse(document.getElementById("data").textContent));
const source = new EventSource("live" + location.search);
source.onmessage = (event) => { link.textContent = "live"; show(JSON.parse(event.data)); };
source.onerror = () => { link.textContent = "not connected"; };

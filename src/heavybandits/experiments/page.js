"use strict";
// Draws the figures of the report from the data in the page. No library, no network.
(() => {
  const data = JSON.parse(document.getElementById("figures").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const SPACE = "http://www.w3.org/2000/svg";
  const HEIGHT = 270, TOP = 10, BOTTOM = 42, LEFT = 58, RIGHT = 14;

  const colour = (index) => data.palette[index][dark.matches ? 1 : 0];

  function element(name, attributes, ...children) {
    const svg = ["svg", "g", "path", "line", "circle", "text", "rect"].includes(name);
    const made = svg ? document.createElementNS(SPACE, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function shown(value) {
    if (value === null || value === undefined) return "";
    const size = Math.abs(value);
    if (value === 0) return "0";
    if (size >= 1e6) return +(value / 1e6).toPrecision(3) + "M";
    if (size >= 1e4) return +(value / 1e3).toPrecision(3) + "k";
    if (size < 1e-3) return value.toExponential(0).replace("e-", "e−");
    return String(+value.toPrecision(4));
  }

  // ---- scales

  function logTicks(low, high, room) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    const step = Math.max(1, Math.ceil((last - first + 1) / room));
    const ticks = [];
    for (let e = first; e <= last; e += step) ticks.push(10 ** e);
    if (ticks.length >= 2) return ticks;
    return [1, 2, 5].flatMap((m) => [first - 1, first].map((e) => m * 10 ** e))
      .filter((t) => t >= low && t <= high).sort((a, b) => a - b);
  }

  function evenTicks(low, high, room) {
    const rough = (high - low) / Math.max(1, room);
    const unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * unit).find((s) => s >= rough);
    const ticks = [];
    for (let t = Math.ceil(low / step) * step; t <= high + step * 1e-9; t += step) ticks.push(+t.toPrecision(12));
    return ticks;
  }

  function scale(kind, low, high, from, to, room) {
    const bend = kind === "log" ? Math.log10 : (v) => v;
    const a = bend(low), b = bend(high);
    const place = (value) => from + (to - from) * (bend(value) - a) / (b - a || 1);
    place.ticks = kind === "log" ? logTicks(low, high, room) : evenTicks(low, high, room);
    return place;
  }

  function extent(panel, series, axis) {
    const logarithmic = panel[axis + "_scale"] === "log";
    const numbers = series.flatMap((s) => axis === "x" ? s.x : [...s.y, ...s.low, ...s.high])
      .filter((v) => v !== null && Number.isFinite(v) && (!logarithmic || v > 0));
    if (!numbers.length) return [logarithmic ? 1 : 0, 10];
    let low = Math.min(...numbers), high = Math.max(...numbers);
    if (logarithmic) return axis === "x" ? [low, high] : [low / 1.25, high * 1.25];
    if (axis === "y") { low = Math.min(0, low); high = high > 0 ? high * 1.05 : 1; }
    return [low, high];
  }

  // ---- one panel

  // Names too long to stand side by side are tilted, as much as the left edge asks for; the drawing
  // grows by what they hang down. Angles in radians.
  const LETTER = 6.2, LEAST = .5;
  const lengths = (names) => names.map((name) => name.length * LETTER);

  function tilt(names, x, width) {
    const gap = (width - LEFT - RIGHT) / Math.max(1, names.length);
    if (lengths(names).every((length) => length <= gap)) return 0;
    return Math.max(LEAST, ...lengths(names).map((length, i) => Math.acos(Math.min(1, x(i) / length))));
  }

  const hanging = (names, angle) => angle && Math.max(0, Math.max(...lengths(names)) * Math.sin(angle) + 22 - BOTTOM);

  function drawAxes(svg, panel, x, y, width, angle) {
    for (const tick of y.ticks) {
      svg.append(element("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }));
      svg.append(element("text", { x: LEFT - 7, y: y(tick) + 4, "text-anchor": "end" }, shown(tick)));
    }
    const floor = HEIGHT - BOTTOM;
    svg.append(element("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: floor, y2: floor }));
    const names = panel.categories;
    const ticks = names.length ? names.map((_, i) => i) : x.ticks;
    for (const tick of ticks) {
      const label = names.length ? names[tick] : shown(tick);
      const at = angle
        ? { "text-anchor": "end", transform: `translate(${x(tick) + 4} ${floor + 13}) rotate(${-angle * 180 / Math.PI})` }
        : { "text-anchor": "middle", x: x(tick), y: floor + 16 };
      svg.append(element("line", { class: "axis", x1: x(tick), x2: x(tick), y1: floor, y2: floor + 4 }));
      svg.append(element("text", at, label));
    }
    if (!angle) svg.append(element("text", { x: (LEFT + width - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, panel.x_label));
    svg.append(element("text", { transform: `translate(12 ${(TOP + floor) / 2}) rotate(-90)`, "text-anchor": "middle" }, panel.y_label));
  }

  const path = (points) => points.map(([a, b], i) => (i ? "L" : "M") + a.toFixed(1) + " " + b.toFixed(1)).join("");

  function drawLine(svg, series, x, y, log) {
    const usable = (v) => v !== null && (!log || v > 0);
    const floor = (v) => usable(v) ? y(v) : HEIGHT - BOTTOM;
    if (series.low.length) {
      const up = series.x.map((v, i) => [x(v), floor(series.high[i])]);
      const down = series.x.map((v, i) => [x(v), floor(series.low[i])]).reverse();
      svg.append(element("path", { d: path([...up, ...down]) + "Z", fill: colour(series.colour), opacity: .15 }));
    }
    const points = series.x.map((v, i) => [v, series.y[i]]).filter(([, v]) => usable(v)).map(([a, b]) => [x(a), y(b)]);
    svg.append(element("path", { d: path(points), fill: "none", stroke: colour(series.colour), "stroke-width": 2, "stroke-linejoin": "round" }));
  }

  function drawDots(svg, series, x, y, place, count) {
    const shift = (place - (count - 1) / 2) * 12;
    series.x.forEach((value, i) => {
      if (series.y[i] === null) return;
      const at = x(value) + shift, tint = colour(series.colour);
      if (series.low.length && series.low[i] !== null && series.high[i] !== null)
        svg.append(element("line", { x1: at, x2: at, y1: y(series.low[i]), y2: y(series.high[i]), stroke: tint, "stroke-width": 2 }));
      svg.append(element("circle", { cx: at, cy: y(series.y[i]), r: 4.5, fill: tint }));
    });
  }

  function drawPanel(box, panel, hidden) {
    const series = panel.series.filter((s) => !hidden.has(s.name));
    const width = Math.max(260, box.clientWidth - 16);
    const [x0, x1] = panel.categories.length ? [-.5, panel.categories.length - .5] : extent(panel, series, "x");
    const [y0, y1] = extent(panel, series, "y");
    const x = scale(panel.x_scale, x0, x1, LEFT, width - RIGHT, width / 75);
    const y = scale(panel.y_scale, y0, y1, HEIGHT - BOTTOM, TOP, 6);
    const angle = tilt(panel.categories, x, width), height = HEIGHT + hanging(panel.categories, angle);
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": panel.title });
    drawAxes(svg, panel, x, y, width, angle);
    series.forEach((s, i) => panel.categories.length
      ? drawDots(svg, s, x, y, i, series.length)
      : drawLine(svg, s, x, y, panel.y_scale === "log"));
    box.replaceChildren(element("h4", {}, panel.title), svg);
    addTip(box, svg, panel, series, x, width);
  }

  // ---- values under the pointer

  function addTip(box, svg, panel, series, x, width) {
    if (!series.length) return;
    const tip = element("div", { class: "tip", hidden: "" });
    const guide = element("line", { class: "guide", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
    svg.append(guide);
    box.append(tip);
    const stops = [...new Set(series.flatMap((s) => s.x))].sort((a, b) => a - b);
    const move = (event) => {
      const frame = svg.getBoundingClientRect();
      const pointer = (event.clientX - frame.left) * width / frame.width;
      const stop = stops.reduce((best, v) => Math.abs(x(v) - pointer) < Math.abs(x(best) - pointer) ? v : best);
      tip.replaceChildren(...tipLines(panel, series, stop));
      tip.hidden = false;
      guide.setAttribute("visibility", "visible");
      guide.setAttribute("x1", x(stop));
      guide.setAttribute("x2", x(stop));
      const at = x(stop) * frame.width / width;
      const left = at > frame.width / 2 ? at - tip.offsetWidth - 6 : at + 22;
      tip.style.left = Math.max(0, Math.min(left, box.clientWidth - tip.offsetWidth)) + "px";
      tip.style.top = "44px";
    };
    const leave = () => { tip.hidden = true; guide.setAttribute("visibility", "hidden"); };
    svg.addEventListener("pointermove", move);
    svg.addEventListener("pointerdown", move);
    svg.addEventListener("pointerleave", leave);
  }

  function tipLines(panel, series, stop) {
    const head = panel.categories.length ? panel.categories[stop] : `${panel.x_label} ${shown(stop)}`;
    const rows = series.map((s) => [s, s.x.indexOf(stop)]).filter(([s, i]) => i >= 0 && s.y[i] !== null);
    rows.sort(([a, i], [b, j]) => b.y[j] - a.y[i]);
    return [element("div", {}, element("b", {}, head)), ...rows.map(([s, i]) => {
      const span = s.low.length ? `  [${shown(s.low[i])}, ${shown(s.high[i])}]` : "";
      const key = element("span", { class: "key", style: `background:${colour(s.colour)}` });
      return element("div", {}, key, `${s.name}: ${shown(s.y[i])}${span}`);
    })];
  }

  // ---- a figure with its switches

  function showFigure(holder, figure) {
    const hidden = new Set();
    let view = 0;
    const tools = element("div", { class: "tools" }), panels = element("div", { class: "panels" });
    holder.prepend(tools, panels);

    function drawTools() {
      const names = new Map(figure.views[view].panels.flatMap((p) => p.series).map((s) => [s.name, s.colour]));
      const views = figure.views.length > 1 ? figure.views.map((v, i) => {
        const button = element("button", { type: "button", class: "view", "aria-pressed": String(i === view) }, v.label);
        button.addEventListener("click", () => { view = i; draw(); });
        return button;
      }) : [];
      const toggles = [...names].map(([name, index]) => {
        const key = element("span", { class: "key", style: `background:${colour(index)}` });
        const button = element("button", { type: "button", class: "series", "aria-pressed": String(!hidden.has(name)) }, key, name);
        button.addEventListener("click", () => { hidden.has(name) ? hidden.delete(name) : hidden.add(name); draw(); });
        return button;
      });
      const gap = views.length ? [element("span", { class: "gap" })] : [];
      const focus = [...tools.children].indexOf(document.activeElement);
      tools.replaceChildren(...views, ...gap, ...toggles);
      if (focus >= 0 && tools.children[focus]) tools.children[focus].focus();
    }

    function draw() {
      drawTools();
      const wanted = figure.views[view].panels;
      while (panels.children.length > wanted.length) panels.lastChild.remove();
      while (panels.children.length < wanted.length) panels.append(element("div", { class: "panel" }));
      wanted.forEach((panel, i) => drawPanel(panels.children[i], panel, hidden));
    }

    draw();
    return draw;
  }

  const redraws = data.figures.map((figure) =>
    showFigure(document.querySelector(`[data-figure="${figure.name}"]`), figure));
  const redraw = () => redraws.forEach((draw) => draw());
  let last = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth !== last) { last = window.innerWidth; redraw(); }
  });
  dark.addEventListener("change", redraw);
  document.documentElement.dataset.drawn = String(redraws.length);
})();

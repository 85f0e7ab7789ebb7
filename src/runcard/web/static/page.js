// The small script of all pages: theme, copy buttons, tidy addresses, charts, live events. No page needs it to be read.
"use strict";
(() => {
  const root = document.documentElement;
  const stored = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
  if (stored === "light" || stored === "dark") root.dataset.theme = stored;
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const charts = [];

  const color = name => getComputedStyle(root).getPropertyValue(name).trim();
  const palette = () => isDark()
    ? ["#6aa9f0", "#5fc9a4", "#e3b45a", "#d58fd0", "#ef8a7c", "#9fb0c3", "#8fd0e8", "#b8c86a", "#7d8590"]
    : ["#2f74bd", "#1f8a66", "#b9801a", "#8e4a9e", "#c1493c", "#5d7288", "#1e86a8", "#73861d", "#7b828b"];
  const dollars = value => value === null ? "" : value === 0 ? "$0" : "$" + (value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(2) : value.toPrecision(2));

  const two = number => String(number).padStart(2, "0");
  function moment(seconds, gap) {
    const time = new Date(seconds * 1000), day = `${two(time.getMonth() + 1)}-${two(time.getDate())}`;
    if (gap >= 27 * 86400) return `${time.getFullYear()}-${two(time.getMonth() + 1)}`;
    if (gap >= 86400) return day;
    return `${two(time.getHours())}:${two(time.getMinutes())}` + (gap < 60 ? `:${two(time.getSeconds())}` : "");
  }

  function draw(place, data) {
    place.replaceChildren();
    if (!data.x.length) return;
    const stacked = Boolean(data.stacked), colors = palette(), axis = { stroke: color("--muted"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    let values = data.series.map(one => one.values);
    if (stacked) values = values.map((_, n) => data.x.map((_, at) => values.slice(0, n + 1).reduce((sum, one) => sum + one[at], 0)));
    const order = data.series.map((_, n) => n).reverse();
    const paths = place.dataset.bars !== undefined ? uPlot.paths.bars({ size: [0.7, 46], align: 0 }) : uPlot.paths.stepped({ align: 1 });
    const step = data.x.length > 1 ? Math.min(...data.x.slice(1).map((x, n) => x - data.x[n])) : 86400;
    const bars = place.dataset.bars !== undefined;
    const single = data.x[data.x.length - 1] - data.x[0] < 1, reach = bars ? step * 1.5 : 1; // seconds; one time has no width of its own
    const options = {
      width: place.clientWidth - 24, height: 250, cursor: { y: false },
      scales: { x: { time: true, range: (_, low, high) => single ? [data.x[0] - reach, data.x[0] + reach] : bars ? [low - step * 0.6, high + step * 0.6] : [low, high] }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.08 : 1] } },
      axes: [{ ...axis, space: 70, ...(single ? { splits: () => [data.x[0]] } : {}), values: (_, ticks, __, ___, gap) => ticks.map(tick => moment(tick, single ? (bars ? step : 1) : gap)) }, { ...axis, size: 62, values: (_, ticks) => ticks.map(dollars) }],
      series: [{ label: "Time", value: (_, time) => time === null ? "–" : moment(time, step) }, ...order.map(n => ({ label: data.series[n].label, stroke: colors[n % colors.length], fill: bars ? colors[n % colors.length] : colors[n % colors.length] + "22", width: bars ? 0 : 2, paths, points: { show: single && !bars }, value: (_, __, ___, at) => at === null ? "–" : dollars(data.series[n].values[at]) }))],
    };
    new uPlot(options, [data.x, ...order.map(n => values[n])], place);
  }
  function redraw() { for (const { place, data } of charts) draw(place, data); }

  async function loadChart(place) {
    try {
      const answer = await fetch(place.dataset.chart, { headers: { accept: "application/json" } });
      if (!answer.ok) throw new Error(String(answer.status));
      const data = await answer.json();
      charts.push({ place, data });
      draw(place, data);
    } catch {
      place.textContent = "The chart could not be loaded.";
    }
  }

  function watch(table) {
    const body = table.tBodies[0], state = document.getElementById("live-state"), most = 500, words = state.textContent;
    let source, last = "", isOver = false;
    function cell(row, text) { row.insertCell().textContent = text; }
    function open() {
      if (isOver || source) return;
      source = new EventSource(table.dataset.live + (last ? "&start=" + encodeURIComponent(last) : ""));
      source.addEventListener("begin", () => body.replaceChildren());
      source.addEventListener("journal", message => {
        const event = JSON.parse(message.data), row = body.insertRow(0);
        last = message.lastEventId;
        row.className = event.level;
        const time = event.time ? new Date(event.time) : null;
        cell(row, time && !isNaN(time) ? time.toLocaleTimeString() : "");
        const name = document.createElement("code");
        name.textContent = event.name;
        row.insertCell().append(name);
        if (table.dataset.agents !== undefined) cell(row, event.agent || "");
        cell(row, event.about);
        if (body.rows.length > most) body.deleteRow(most);
      });
      source.addEventListener("closed", () => {
        close();
        isOver = true;
        state.textContent = table.dataset.over + " ";
        const link = document.createElement("a");
        link.href = location.pathname; // a session moves when it is closed: without the key of its path
        link.textContent = "Show the final record";
        state.append(link);
      });
      source.onopen = () => { state.textContent = words; };
      source.onerror = () => { state.textContent = source?.readyState === EventSource.CLOSED ? "The connection was lost. Load the page again." : "The connection was lost; trying again …"; };
    }
    function close() { source?.close(); source = undefined; }
    // A browser has few connections to one server: a tab that nobody sees keeps none.
    document.addEventListener("visibilitychange", () => document.hidden ? close() : open());
    if (!document.hidden) open();
  }

  // The columns as one short word in the address, in the order that they had; none if they are the usual ones.
  function tidyColumns(form) {
    const inputs = [...form.querySelectorAll('[name="columns"]')];
    if (!inputs.length) return;
    const chosen = inputs.flatMap(input => input.type === "checkbox" ? (input.checked ? [input.value] : []) : input.value.split(",").map(name => name.trim()).filter(Boolean));
    const before = form.dataset.columns.split(","), ordered = [...before.filter(name => chosen.includes(name)), ...chosen.filter(name => !before.includes(name))];
    for (const input of inputs) input.disabled = true;
    form.querySelector(".tidied")?.remove();
    if (!ordered.length || ordered.join() === form.dataset.default) return;
    const one = document.createElement("input");
    Object.assign(one, { type: "hidden", name: "columns", value: ordered.join(), className: "tidied" });
    form.append(one);
  }

  document.addEventListener("click", event => {
    const copy = event.target.closest("[data-copy]");
    if (copy) navigator.clipboard?.writeText(copy.dataset.copy).then(() => { const old = copy.textContent; copy.textContent = "copied"; setTimeout(() => { copy.textContent = old; }, 1500); });
  });
  document.addEventListener("keydown", event => {
    const fold = event.key === "Escape" && document.activeElement?.closest("details[open]:not(.filter-fold)");
    if (!fold) return;
    fold.open = false;
    fold.querySelector("summary").focus();
  });
  document.addEventListener("submit", event => {
    if (event.target.id === "compare" && document.querySelectorAll('[form="compare"]:checked').length < 2) {
      event.preventDefault();
      const hint = event.target.querySelector("[role=status]");
      hint.textContent = "Mark two or more records first.";
      hint.className = "warn-text";
    }
    if (!event.target.matches("[data-tidy]")) return;
    tidyColumns(event.target);
    for (const input of event.target.elements) if (input.name && !input.value) input.disabled = true;
  });
  addEventListener("pageshow", () => { document.querySelector(".tidied")?.remove(); for (const input of document.querySelectorAll("[data-tidy] :disabled")) input.disabled = false; });
  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme")?.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      try { localStorage.setItem("theme", root.dataset.theme); } catch { /* then only for this page */ }
      redraw();
    });
    const small = matchMedia("(max-width: 820px)");
    const fold = () => { for (const one of document.querySelectorAll(".filter-fold")) one.open = !small.matches || one.dataset.used !== undefined; };
    fold();
    small.addEventListener("change", fold);
    for (const place of document.querySelectorAll("[data-chart]")) loadChart(place);
    for (const table of document.querySelectorAll("[data-live]")) watch(table);
    let waiting;
    addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(redraw, 150); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  });
})();

// load.js - what the server has to do at the moment: requests, latency, freshness, memory, events. A point every two
// seconds, kept while the page is open.
import { sparkline } from "./chart.js";
import { $, bytes, count, el, seconds, short, span } from "./dom.js";

const MOST = 150; // points: five minutes

const TILES = [
    { id: "rate", title: "Requests", lines: [(s) => s.per_second], value: (s) => short(s.per_second), unit: "a second", more: (s) => `${count(s.requests)} since the start` },
    { id: "latency", title: "Latency of a list", lines: [(s) => s.latency?.p50, (s) => s.latency?.p95, (s) => s.latency?.p99], value: (s) => seconds(s.latency?.p50), unit: "median",
        more: (s) => [el("span", { class: "spark-key spark-1", text: `95 %: ${seconds(s.latency?.p95)}` }), el("span", { class: "spark-key spark-2", text: `99 %: ${seconds(s.latency?.p99)}` })] },
    { id: "pending", title: "Waiting for the next refresh", lines: [(s, m) => m.freshness?.pending], value: (s, m) => short(m.freshness?.pending), unit: "events",
        more: (s, m) => (m.freshness?.refreshing ? "refreshing now" : m.freshness?.refreshes ? `the last refresh took ${seconds(m.freshness?.last_refresh_seconds)}` : "no refresh so far") },
    { id: "events", title: "Events stored", lines: [(s, m) => m.freshness?.stored ?? s.events], value: (s, m) => short(s.store?.feedback ?? m.freshness?.stored), unit: "",
        more: (s, m) => lag(m.freshness) },
    { id: "memory", title: "Memory", lines: [(s) => s.memory], value: (s) => bytes(s.memory), unit: "", more: () => "" },
    { id: "store", title: "Known", lines: [(s) => s.store?.users], value: (s) => short(s.store?.users), unit: "users", more: (s) => `${count(s.store?.items)} items, up for ${span(s.uptime)}` },
];

function lag(freshness) {
    const behind = freshness ? freshness.stored - freshness.applied : NaN;
    return !Number.isFinite(behind) ? "" : behind > 0 ? `${count(behind)} not applied yet` : "all of them applied";
}

export function loadPanel() {
    const tiles = TILES.map((tile) => {
        const value = el("span", { class: "tile-value", text: "–" }), more = el("p", { class: "tile-more hint", text: "\u00a0" });
        const spark = tile.lines.length ? sparkline(tile.lines.length) : null;
        const node = el("section", { class: `card tile tile-${tile.id}`, "aria-label": tile.title },
            el("h2", { class: "tile-title", text: tile.title }),
            el("p", { class: "tile-number" }, value, tile.unit ? el("span", { class: "tile-unit", text: tile.unit }) : null), more, spark && spark.node);
        return { ...tile, node, value: (s, m) => { value.textContent = tile.value(s, m); }, more: (s, m) => more.replaceChildren(...[tile.more(s, m)].flat()), spark, series: tile.lines.map(() => []) };
    });
    $("load").append(el("div", { class: "tiles" }, tiles.map((tile) => tile.node)), el("p", { class: "hint load-foot", text: "The last five minutes, a point every two seconds; nothing is asked while this tab is hidden." }));

    // status and model: the two answers, or null when there was none.
    function update(status, model) {
        for (const tile of tiles) {
            tile.lines.forEach((read, n) => {
                const found = status && model ? read(status, model) : null;
                tile.series[n].push(Number.isFinite(found) ? found : null);
                tile.series[n].splice(0, tile.series[n].length - MOST);
            });
            if (status && model) {
                tile.value(status, model);
                tile.more(status, model);
            }
            if (tile.spark)
                tile.spark.draw(tile.series, MOST);
        }
    }

    return { update };
}

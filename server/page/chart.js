// chart.js - lines over epochs, and sparklines over the last minutes, as SVG.
import { el, svg } from "./dom.js";

// Round steps so that about so many fit between low and high.
function steps(low, high, about) {
    const rough = (high - low) / about, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.999);
    const found = [];
    for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++)
        found.push(n * step);
    return { found, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9) + (String(step / power).includes(".") ? 1 : 0)) };
}

// points: [[x, y], ...]; best: the index of a point to mark, or -1. Fits the width of its place; redrawn when it changes.
export function lineChart({ label, points, best, colour }) {
    const height = 190, right = 12, top = 14, bottom = 24;
    const read = el("p", { class: "chart-read" });
    const holder = el("div", { class: "chart-place" });
    const xs = points.map((point) => point[0]), ys = points.map((point) => point[1]);
    const x0 = Math.min(...xs), x1 = Math.max(...xs, x0 + 1);
    let y0 = Math.min(...ys), y1 = Math.max(...ys);
    const room = (y1 - y0 || Math.abs(y1) || 1) * 0.08;
    y0 -= room;
    y1 += room;
    const ticks = steps(y0, y1, 4);
    const left = 14 + 7.5 * Math.max(...ticks.found.map((value) => value.toFixed(ticks.digits).length)); // room for the numbers
    const write = (value) => value.toPrecision(4);
    const tell = (n) => { read.textContent = `epoch ${points[n][0]}: ${write(points[n][1])}${n === best ? ", best" : ""}`; };
    const rest = best >= 0 ? best : points.length - 1;

    function draw(width) {
        const x = (value) => left + (value - x0) / (x1 - x0) * (width - left - right);
        const y = (value) => height - bottom - (value - y0) / (y1 - y0) * (height - top - bottom);
        const cursor = svg("line", { class: "chart-cursor", y1: top, y2: height - bottom, x1: x(xs[rest]), x2: x(xs[rest]) });
        const dot = svg("circle", { class: "chart-dot", r: 4.5, cx: x(xs[rest]), cy: y(ys[rest]) });
        const whole = svg("svg", { class: "chart", role: "img", viewBox: `0 0 ${width} ${height}`, width, height, vars: { "--colour": colour },
            "aria-label": `${label} over ${points.length} epochs, from ${write(ys[0])} to ${write(ys[ys.length - 1])}${best >= 0 ? `, best ${write(ys[best])} in epoch ${xs[best]}` : ""}` },
        ticks.found.map((value) => [svg("line", { class: "chart-grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
            svg("text", { class: "chart-text", x: left - 8, y: y(value) + 4, "text-anchor": "end", text: value.toFixed(ticks.digits) })]),
        steps(x0, x1, width > 420 ? 6 : 4).found.filter(Number.isInteger).map((value) =>
            svg("text", { class: "chart-text", x: x(value), y: height - 6, "text-anchor": "middle", text: String(value) })),
        cursor,
        svg("path", { class: "chart-line", d: points.map(([a, b], n) => `${n ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("") }),
        dot);
        const aim = (n) => {
            for (const name of ["x1", "x2"])
                cursor.setAttribute(name, x(xs[n]));
            dot.setAttribute("cx", x(xs[n]));
            dot.setAttribute("cy", y(ys[n]));
            tell(n);
        };
        whole.addEventListener("pointermove", (event) => {
            const at = (event.clientX - whole.getBoundingClientRect().left - left) / (width - left - right) * (x1 - x0) + x0;
            aim(xs.reduce((nearest, value, n) => (Math.abs(value - at) < Math.abs(xs[nearest] - at) ? n : nearest), 0));
        });
        whole.addEventListener("pointerleave", () => aim(rest));
        holder.replaceChildren(whole);
    }

    tell(rest);
    new ResizeObserver(([entry]) => entry.contentRect.width > 0 && draw(Math.floor(entry.contentRect.width))).observe(holder);
    return el("figure", { class: "chart-figure" }, el("figcaption", null, el("span", { text: label }), read), holder);
}

// Several lines over the same times, from zero to their largest value. Returns {node, draw(series)}; series: [[y, ...], ...],
// null where there was no answer.
export function sparkline(lines) {
    const width = 120, height = 36;
    const area = svg("path", { class: "spark-area" });
    const paths = Array.from({ length: lines }, (_, n) => svg("path", { class: `spark-line spark-${n}` }));
    const node = svg("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" }, area, paths);

    function draw(series, most) {
        const many = Math.max(30, Math.min(most, series[0].length)); // a young line fills more than a corner
        const high = Math.max(...series.flat().filter(Number.isFinite), 1e-12) * 1.1;
        series.forEach((values, n) => {
            const x = (place) => width - (values.length - 1 - place) * width / (many - 1);
            const y = (value) => height - 1 - value / high * (height - 3);
            let line = "", pen = false, first = null, last = null;
            values.forEach((value, place) => {
                if (Number.isFinite(value)) {
                    line += `${pen ? "L" : "M"}${x(place).toFixed(1)} ${y(value).toFixed(1)}`;
                    first = first === null ? x(place) : first;
                    last = x(place);
                }
                pen = Number.isFinite(value);
            });
            paths[n].setAttribute("d", line);
            if (n === 0)
                area.setAttribute("d", lines === 1 && first !== null && !line.slice(1).includes("M") ? `${line}L${last.toFixed(1)} ${height}L${first.toFixed(1)} ${height}Z` : "");
        });
    }

    return { node, draw };
}

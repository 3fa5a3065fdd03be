// list.js - the list of recommendations: one row an item, with a bar that shows which part of the history it owes its
// score to. Rows are kept by id, so that focus survives a new list and rows glide to their new places.
import { $, arrange, el, icon, percent, score } from "./dom.js";
import { colourOf, isItem, name } from "./names.js";

const still = matchMedia("(prefers-reduced-motion: reduce)");

// deeds: select(id, row), add(id), deny(id); addLabel(id): what adding means now.
export function entryList(place, deeds) {
    const rows = new Map(); // id -> row
    let order = []; // the ids listed
    let current = null; // the id of the row that Tab reaches
    let last = null; // what is shown: {entries, plain, addLabel}

    function makeRow(id) {
        const row = { id };
        row.rank = el("span", { class: "rank" });
        row.move = el("span", { class: "move" });
        row.title = el("span", { class: "entry-title" });
        row.idText = el("span", { class: "entry-id" });
        row.bar = el("span", { class: "bar", "aria-hidden": "true" });
        row.score = el("span", { class: "entry-score" });
        row.why = el("span", { class: "why" });
        row.main = el("button", { type: "button", class: "entry-main", onclick: () => deeds.select(id, row.main) },
            el("span", { class: "place" }, row.rank, row.move),
            el("span", { class: "entry-name" }, row.title, row.idText),
            el("span", { class: "entry-bar" }, row.bar, row.score),
            row.why);
        row.add = el("button", { type: "button", class: "round", onclick: () => deeds.add(id) }, icon("plus"));
        row.deny = el("button", { type: "button", class: "round", onclick: () => deeds.deny(id) }, icon("cross"));
        row.node = el("li", { class: "entry" }, row.main, el("span", { class: "entry-deeds" }, row.add, row.deny));
        row.node.addEventListener("keydown", (event) => keys(event, id));
        row.node.addEventListener("focusin", () => reach(id));
        return row;
    }

    // Only one row is on the way of the Tab key; the arrow keys go from row to row.
    function reach(id) {
        current = id;
        for (const row of rows.values()) {
            const tab = row.id === id ? "0" : "-1";
            for (const button of [row.main, row.add, row.deny])
                button.setAttribute("tabindex", tab);
        }
    }

    function keys(event, id) {
        if (event.ctrlKey || event.metaKey || event.altKey)
            return;
        const at = order.indexOf(id);
        const steps = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: order.length - 1 };
        if (event.key in steps) {
            event.preventDefault();
            const to = rows.get(order[Math.max(0, Math.min(order.length - 1, steps[event.key]))]);
            const column = [...rows.get(id).node.querySelectorAll("button")].indexOf(document.activeElement);
            if (to)
                to.node.querySelectorAll("button")[Math.max(0, column)].focus();
        } else if (event.key === "+" || event.key === "a") {
            event.preventDefault();
            deeds.add(id);
        } else if (event.key === "Delete" || event.key === "x") {
            event.preventDefault();
            deeds.deny(id);
        }
    }

    // Segments by the share of each reason; what no reason explains comes last, in grey.
    function drawBar(row, entry, width) {
        const reasons = (entry.reasons || []).filter((reason) => reason.share > 0);
        const whole = Math.max(1, reasons.reduce((sum, reason) => sum + reason.share, 0));
        row.bar.replaceChildren(...reasons.filter((reason) => isItem(reason.id)).map((reason) =>
            el("span", { class: "segment", vars: { "--share": String(reason.share / whole), "--colour": colourOf(reason.id) } })),
        el("span", { class: "segment rest" }));
        row.bar.style.setProperty("--width", width.toFixed(4));
    }

    function drawWhy(row, entry, plain) {
        const reasons = (entry.reasons || []).filter((reason) => isItem(reason.id) && reason.share > 0);
        if (reasons.length === 0) {
            row.why.replaceChildren(plain);
            return;
        }
        row.why.replaceChildren("because of ", ...reasons.flatMap((reason, n) => [
            n ? ", " : "",
            el("span", { class: "reason" }, el("span", { class: "swatch", "aria-hidden": "true", vars: { "--colour": colourOf(reason.id) } }),
                el("span", { class: "reason-name", text: name(reason.id) }), ` ${percent(reason.share)}`),
        ]));
    }

    function drawMove(row, from, to) {
        const step = from === undefined ? "" : from === null ? "new" : from > to ? `▲${from - to}` : from < to ? `▼${to - from}` : "";
        row.move.textContent = step;
        row.move.dataset.kind = step === "new" ? "new" : step.startsWith("▲") ? "up" : "down";
        row.move.setAttribute("aria-label", step === "new" ? "new," : step ? `${from > to ? "up" : "down"} ${Math.abs(from - to)},` : "");
    }

    function drawNames(row, entry) {
        row.title.textContent = name(entry.id);
        row.idText.textContent = name(entry.id) === entry.id ? "" : entry.id;
        row.add.setAttribute("aria-label", last.addLabel(entry.id));
        row.add.title = last.addLabel(entry.id);
        row.deny.setAttribute("aria-label", `Not ${name(entry.id)}`);
        row.deny.title = "Not this";
        drawWhy(row, entry, last.plain(entry));
    }

    // Titles have become known.
    function redraw() {
        for (const entry of last ? last.entries : [])
            if (rows.has(entry.id))
                drawNames(rows.get(entry.id), entry);
    }

    // entries: [{id, score, reasons?}]; options: plain(entry), the line of an entry without reasons; compare, whether
    // to show what moved; addLabel(id). Returns how many are new.
    function show(entries, { plain, compare, addLabel }) {
        const before = new Map(order.map((id, n) => [id, n]));
        const tops = new Map(order.map((id) => [id, rows.get(id).node.getBoundingClientRect().top]));
        const focused = place.contains(document.activeElement) ? current : null;
        const focusedAt = order.indexOf(focused);
        const best = Math.max(...entries.map((entry) => entry.score)), least = Math.min(0, ...entries.map((entry) => entry.score));
        order = entries.map((entry) => entry.id);
        last = { entries, plain, addLabel };
        entries.forEach((entry, n) => {
            const row = rows.get(entry.id) || makeRow(entry.id);
            rows.set(entry.id, row);
            row.rank.textContent = String(n + 1);
            row.score.textContent = score(entry.score);
            drawNames(row, entry);
            drawBar(row, entry, best > least ? (entry.score - least) / (best - least) : 0);
            drawMove(row, !compare || before.size === 0 ? undefined : before.has(entry.id) ? before.get(entry.id) : null, n);
        });
        const listed = new Set(order);
        for (const id of [...rows.keys()])
            if (!listed.has(id))
                rows.delete(id);
        arrange(place, order.map((id) => rows.get(id).node));
        reach(focused && listed.has(focused) ? focused : order[0]); // from outside, Tab comes to the first
        if (focused && !listed.has(focused)) // its row went away: the one that took its place
            focus(order[Math.min(focusedAt, order.length - 1)]);
        glide(tops);
        return order.filter((id) => !before.has(id)).length;
    }

    function glide(tops) {
        if (still.matches || document.hidden)
            return;
        for (const id of order) {
            const node = rows.get(id).node, top = node.getBoundingClientRect().top;
            const step = tops.has(id) ? tops.get(id) - top : 0;
            if (step)
                node.animate([{ transform: `translateY(${step}px)` }, { transform: "none" }], { duration: 260, easing: "cubic-bezier(.2,.8,.2,1)" });
            else if (!tops.has(id) && tops.size)
                node.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 260 });
        }
    }

    function focus(id) {
        if (rows.has(id))
            rows.get(id).main.focus();
        else
            $("search").focus();
    }

    function mark(id) {
        for (const row of rows.values()) {
            row.node.classList.toggle("chosen", row.id === id);
            row.main.setAttribute("aria-current", row.id === id ? "true" : "false");
        }
    }

    // Grey rows in the place of the first list, so that nothing moves when it comes.
    function wait(many) {
        order = [];
        rows.clear();
        place.replaceChildren(...Array.from({ length: many }, () => el("li", { class: "entry ghost", "aria-hidden": "true" })));
    }

    function clear() {
        order = [];
        rows.clear();
        place.replaceChildren();
    }

    return { show, redraw, mark, wait, clear, focus, ids: () => order, has: (id) => rows.has(id) };
}

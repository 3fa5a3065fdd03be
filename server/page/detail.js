// detail.js - one item closely: why it has its score, exactly, and what is near it. Beside the list where there is
// room, else in a sheet over it.
import * as api from "./api.js";
import { $, el, icon, percent, score, sentence } from "./dom.js";
import { colourOf, isItem, learn, name, remember } from "./names.js";

const NEAR = 8;
const PARTS = 10; // parts shown before "all"
export const wide = matchMedia("(min-width: 1180px)");

// context(): {items} or {user}; deeds: add(id), deny(id), record(id, user), closed(); words: addLabel(), taken(id).
export function detailPane(context, deeds, words) {
    const body = $("detail"), sheet = $("sheet");
    let id = null, request = null, all = false, opener = null;
    let why = null, near = null; // what is shown: {data} or {error}

    function settle() {
        if (wide.matches) {
            $("detail-place").append(body);
            if (sheet.open)
                sheet.close();
        } else
            $("sheet-place").append(body);
    }

    wide.addEventListener("change", settle);
    $("sheet-close").addEventListener("click", () => sheet.close());
    sheet.addEventListener("click", (event) => event.target === sheet && sheet.close());
    sheet.addEventListener("close", () => {
        const back = opener && opener.isConnected ? opener : null;
        opener = null;
        if (!wide.matches)
            deeds.closed(back);
    });

    function partRow(part, whole, largest) {
        const bar = el("span", { class: part.score < 0 ? "part-bar less" : "part-bar", "aria-hidden": "true", vars: { "--width": String(Math.abs(part.score) / largest), "--colour": colourOf(part.id) } });
        return el("tr", { class: isItem(part.id) ? null : "no-item" },
            el("th", { scope: "row" }, el("span", { text: name(part.id), title: part.id }), bar),
            el("td", { text: score(part.score) }),
            el("td", { text: percent(whole ? part.score / whole : NaN) }));
    }

    function whyBlock() {
        const heading = el("h4", { text: "Why exactly" });
        if (!why)
            return [heading, el("p", { class: "hint", text: "…" })];
        if (why.nothing)
            return [heading, el("p", { class: "hint", text: "The list is by popularity until there is something in the history." })];
        if (why.error)
            return [heading, el("p", { class: "hint bad", text: sentence(why.error.message) })];
        const parts = why.data.parts, largest = Math.max(...parts.map((part) => Math.abs(part.score)), 1e-12);
        const shown = all ? parts : parts.slice(0, PARTS);
        return [heading,
            why.data.owned ? el("p", { class: "hint", text: "Already in the history." }) : null,
            el("table", { class: "parts" },
                el("colgroup", null, el("col"), el("col", { class: "col-score" }), el("col", { class: "col-share" })),
                el("thead", { class: "unseen" }, el("tr", null, ...["because of", "contribution", "share"].map((text) => el("th", { scope: "col", text })))),
                el("tbody", null, shown.map((part) => partRow(part, why.data.score, largest))),
                el("tfoot", null, el("tr", null, el("th", { scope: "row", text: "the score, their sum" }), el("td", { text: score(why.data.score) }), el("td")))),
            parts.length > shown.length ? el("button", { type: "button", class: "link", text: `All ${parts.length} parts`, onclick: () => { all = true; draw(); } }) : null];
    }

    function nearBlock() {
        const heading = el("h4", { text: "Near it" });
        if (!near)
            return [heading, el("p", { class: "hint", text: "…" })];
        if (near.error)
            return [heading, el("p", { class: "hint bad", text: sentence(near.error.message) })];
        if (near.data.length === 0)
            return [heading, el("p", { class: "hint", text: "Nothing." })];
        const largest = Math.max(...near.data.map((entry) => entry.Score), 1e-12);
        return [heading, el("ul", { class: "near" }, near.data.map((entry) => el("li", null,
            el("button", { type: "button", class: "near-main", onclick: () => open(entry.Id, null, true) },
                el("span", { class: "near-name", text: name(entry.Id) }),
                el("span", { class: "near-bar", "aria-hidden": "true", vars: { "--width": String(Math.max(0, entry.Score / largest)) } }),
                el("span", { class: "near-score", text: score(entry.Score) })),
            words.taken(entry.Id) ? el("span", { class: "round still", title: "in the history" }, icon("check"))
                : el("button", { type: "button", class: "round", "aria-label": words.addLabel(entry.Id), title: words.addLabel(entry.Id), onclick: () => deeds.add(entry.Id) }, icon("plus")))))];
    }

    function deedsBlock() {
        const taken = words.taken(id), user = context().user;
        const field = el("input", { class: "input", id: "detail-user", type: "text", value: $("record-user").value, spellcheck: "false", autocapitalize: "none", "aria-label": "User id", placeholder: "user id" });
        field.addEventListener("input", () => { $("record-user").value = field.value; });
        return [
            el("div", { class: "deeds" },
                taken ? el("span", { class: "hint", text: "In the history." })
                    : el("button", { type: "button", class: "button strong", onclick: () => deeds.add(id) }, user === undefined ? "Add to the history" : "Record as an event"),
                el("button", { type: "button", class: "button", onclick: () => deeds.deny(id) }, "Not this")),
            user === undefined ? el("form", { class: "field-row detail-record", autocomplete: "off", onsubmit: (event) => { event.preventDefault(); deeds.record(id, field.value.trim()); } },
                field,
                el("button", { type: "submit", class: "button" }, "Record as an event")) : null];
    }

    function draw() {
        if (id === null) {
            body.replaceChildren(el("div", { class: "blank" }, el("p", { text: "Choose an item of the list to see why it is there and what is near it." })));
            return;
        }
        const kept = document.activeElement && body.contains(document.activeElement) ? document.activeElement.id || document.activeElement.getAttribute("aria-label") || document.activeElement.textContent : null;
        body.replaceChildren(
            el("h3", { class: "detail-title", tabindex: "-1", text: name(id) }),
            el("p", { class: "detail-id" }, name(id) === id ? "\u00a0" : el("code", { text: id })),
            ...deedsBlock().filter(Boolean), ...whyBlock().filter(Boolean), ...nearBlock());
        if (kept) { // the drawing replaced what had the focus
            const again = [...body.querySelectorAll("button, input")].find((node) => (node.id || node.getAttribute("aria-label") || node.textContent) === kept);
            (again || body.querySelector("h3")).focus({ preventScroll: true });
        }
    }

    async function load() {
        if (request)
            request.abort();
        request = new AbortController();
        const { signal } = request, { items, user } = context(), mine = id;
        const catching = async (promise) => {
            try {
                return { data: (await promise).data };
            } catch (error) {
                return { error };
            }
        };
        const explained = user !== undefined ? catching(api.explainUser(user, mine, signal))
            : items.length ? catching(api.explainItems(items, mine, signal)) : Promise.resolve({ nothing: true });
        const [whyNow, nearNow] = await Promise.all([explained, catching(api.neighbours(mine, NEAR, signal))]);
        if (signal.aborted || mine !== id)
            return;
        why = whyNow;
        near = nearNow;
        for (const part of why.data ? why.data.parts : [])
            remember(part.id, part.title);
        for (const entry of near.data || [])
            remember(entry.Id, entry.Title || entry.title);
        draw();
        learn([mine, ...(near.data || []).map((entry) => entry.Id), ...(why.data ? why.data.parts.map((part) => part.id) : [])], () => mine === id && draw());
    }

    // from: what to focus when the sheet closes. inside: opened from the pane itself, which keeps the focus.
    function open(next, from, inside) {
        const news = next !== id;
        id = next;
        all = all && !news;
        if (news)
            why = near = null;
        settle();
        draw();
        if (!wide.matches && !sheet.open) {
            opener = from;
            sheet.showModal();
        }
        if (inside || !wide.matches)
            body.querySelector("h3").focus({ preventScroll: true });
        deeds.opened(id);
        return load();
    }

    // The history changed, or the model: the same item, explained anew.
    function again() {
        if (id !== null && (wide.matches || sheet.open)) {
            draw();
            load();
        }
    }

    function clear() {
        id = why = near = null;
        draw();
    }

    settle();
    draw();
    return { open, again, clear, close: () => sheet.open && sheet.close(), id: () => id, redraw: draw };
}

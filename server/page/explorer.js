// explorer.js - who is asked about (somebody new with a history that is clicked together, or a user of the store), and
// what the server recommends to them. Every change asks again at once; an answer that is overtaken is dropped.
import * as api from "./api.js";
import { $, el, icon, milliseconds, percent, plural, say, sentence, toast } from "./dom.js";
import { detailPane, wide } from "./detail.js";
import { askKey } from "./key.js";
import { entryList } from "./list.js";
import { COLOURS, colour, colourOf, isItem, learn, name, remember } from "./names.js";
import { combobox } from "./search.js";

const REASONS = 3, STEP = 20, MOST = 100;
const CHIPS = 40; // chips of a user's history that are shown

export function explorer({ changed }) {
    const state = { mode: "items", items: [], user: "", denied: [], type: "like", n: STEP };
    let past = []; // feedback of the user: [{id, type}], newest first
    let request = null, shown = null, chosen = false; // chosen: the item in the pane was chosen by hand
    let deedMs = null; // how long the last write took

    const history = () => (state.mode === "items" ? state.items : past.map((one) => one.id));
    const taken = (id) => history().includes(id);
    const addLabel = (id) => (state.mode === "items" ? `Add ${name(id)} to the history` : `Record ${name(id)} as an event of ${state.user}`);
    const context = () => (state.mode === "items" ? { items: state.items } : { user: state.user });
    const list = entryList($("entries"), { select, add, deny });
    const detail = detailPane(context, {
        add, deny, record: (id, user) => record([id], user), opened: (id) => list.mark(id),
        closed: (back) => (back || $("search")).focus(),
    }, { taken, addLabel });

    // ---- What a person does

    async function add(id, title) {
        remember(id, title);
        if (taken(id))
            return;
        if (state.mode === "items") {
            state.items.push(id);
            refresh(`${name(id)} added`);
        } else if (state.user)
            await record([id], state.user);
        else
            $("user").focus();
    }

    async function remove(id) {
        if (state.mode === "items")
            state.items = state.items.filter((one) => one !== id);
        else {
            const of = past.filter((one) => one.id === id);
            const ok = await write(() => Promise.all(of.map((one) => api.dropFeedback(one.type, state.user, id))));
            if (!ok)
                return;
            past = past.filter((one) => one.id !== id);
        }
        refresh(`${name(id)} removed`);
    }

    function deny(id) {
        if (!state.denied.includes(id))
            state.denied.push(id);
        if (detail.id() === id) {
            chosen = false;
            detail.close();
        }
        refresh(`${name(id)} is left out`);
    }

    function select(id, row) {
        chosen = true;
        detail.open(id, row);
    }

    // Writes, asks for a key when one is needed, and tells of failures. Returns whether it was done.
    async function write(deed) {
        const began = performance.now();
        try {
            await deed();
            deedMs = performance.now() - began;
            return true;
        } catch (error) {
            if (error.needsKey && await askKey(error.message))
                return write(deed);
            toast(`Not recorded: ${error.message}`, true);
            return false;
        }
    }

    async function record(ids, user) {
        if (!user) {
            toast("Name the user whose events these are.", true);
            $("record-user").focus();
            return;
        }
        const Timestamp = new Date().toISOString();
        const events = ids.map((ItemId) => ({ FeedbackType: state.type, UserId: user, ItemId, Timestamp, Comment: "" }));
        if (!await write(() => api.addFeedback(events)))
            return;
        const other = state.mode !== "user" || state.user !== user;
        if (other) {
            setMode("user");
            setUser(user);
            detail.close();
        }
        await refresh(ids.length === 1 ? `recorded ${name(ids[0])}` : `recorded ${ids.length} events`);
        toast(`${plural(ids.length, "event", "events")} of ${user} stored in ${milliseconds(deedMs)}; this list already knows.`);
    }

    function setMode(mode) {
        state.mode = mode;
        $(mode === "items" ? "mode-items" : "mode-user").checked = true;
        $("user-form").hidden = mode === "items";
        $("record").hidden = mode === "user";
        $("search-label").textContent = mode === "items" ? "Add to the history" : "Record an event";
        chosen = false;
        shown = null;
        past = [];
    }

    function setUser(user) {
        state.user = user;
        $("user").value = user;
        shown = null;
        past = [];
    }

    // ---- Chips

    function chip(id, { label, colourful, drop }) {
        const what = `${label} ${name(id)}`;
        const button = el("button", { type: "button", class: "chip-drop", "aria-label": what, title: what, onclick: () => drop(id) }, icon("cross"));
        return el("li", { class: "chip", "data-id": id, vars: colourful ? { "--colour": colourOf(id) } : {} },
            el("span", { class: "swatch", "aria-hidden": "true" }), el("span", { class: "chip-name", text: name(id), title: id }), button);
    }

    // Redraws the chips; a chip that had the focus keeps it, or its neighbour gets it.
    function drawChips(place, ids, options, otherwise) {
        const buttons = [...place.querySelectorAll("button")];
        const at = buttons.indexOf(document.activeElement);
        const was = at >= 0 ? buttons[at].closest("li").dataset.id : null;
        place.replaceChildren(...ids.map((id) => chip(id, options)));
        if (at >= 0) {
            const next = [...place.querySelectorAll("button")];
            (next.find((button) => button.closest("li").dataset.id === was) || next[Math.min(at, next.length - 1)] || otherwise).focus();
        }
    }

    function chipKeys(event, drop) {
        const buttons = [...event.currentTarget.querySelectorAll("button")], at = buttons.indexOf(document.activeElement);
        const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
        if (at < 0)
            return;
        if (to !== undefined && buttons[to]) {
            event.preventDefault();
            buttons[to].focus();
        } else if (event.key === "Delete" || event.key === "Backspace") {
            event.preventDefault();
            drop(buttons[at].closest("li").dataset.id);
        }
    }

    function drawHistory() {
        const ids = history();
        const drop = state.mode === "items" ? "Remove" : "Forget the event of";
        $("history-title").textContent = state.mode === "items" ? "History" : state.user ? `History of ${state.user}` : "History";
        drawChips($("chips"), ids.slice(0, CHIPS), { label: drop, colourful: true, drop: remove }, $("search"));
        $("clear").hidden = state.mode !== "items" || ids.length === 0;
        $("history-hint").replaceChildren(...hint(ids));
        $("denied").hidden = state.denied.length === 0;
        drawChips($("denied-chips"), state.denied, { label: "Allow", drop: allow }, $("search"));
        $("record-go").disabled = state.items.length === 0;
    }

    function allow(id) {
        state.denied = state.denied.filter((one) => one !== id);
        refresh(`${name(id)} is allowed again`);
    }

    let popular = []; // suggestions for an empty history
    function hint(ids) {
        if (ids.length > CHIPS)
            return [el("p", { class: "hint", text: `and ${ids.length - CHIPS} more` })];
        if (ids.length)
            return [];
        if (state.mode === "user")
            return [el("p", { class: "hint", text: state.user ? "Nothing recorded." : "Name a user of the store." })];
        if (popular.length === 0)
            return [el("p", { class: "hint", text: "Nothing yet." })];
        return [el("p", { class: "hint", text: "Nothing yet. Search, or start with one of these:" }),
            el("ul", { class: "chips starters" }, popular.slice(0, 5).map((id) => el("li", null,
                el("button", { type: "button", class: "starter", onclick: () => { add(id); $("search").focus(); } }, icon("plus"), el("span", { text: name(id) })))))];
    }

    // ---- The list

    // What to ask; null: nobody is named.
    async function question(signal) {
        if (state.mode === "user" && !state.user)
            return null;
        if (state.mode === "items" && state.items.length === 0) {
            const { data, ms } = await api.search("", state.n + state.denied.length, signal);
            for (const item of data)
                remember(item.id, item.title);
            popular = data.map((item) => item.id);
            const entries = data.map((item) => ({ id: item.id, score: item.count })).filter((item) => !state.denied.includes(item.id));
            return { data: { items: entries.slice(0, state.n), popular: true }, ms };
        }
        const whose = state.mode === "items" ? { items: state.items } : { user: state.user };
        return api.recommend({ ...whose, n: state.n, deny: state.denied, explain: REASONS }, signal);
    }

    async function readPast(signal) {
        if (state.mode !== "user" || !state.user)
            return;
        try {
            const { data } = await api.feedbackOf(state.user, signal);
            past = data.map((one) => ({ id: one.ItemId, type: one.FeedbackType, time: one.Timestamp }))
                .sort((a, b) => String(b.time).localeCompare(String(a.time)));
        } catch (error) {
            if (error.status !== 404)
                throw error;
            past = [];
        }
    }

    async function refresh(deed) {
        if (request)
            request.abort();
        request = new AbortController();
        const { signal } = request;
        changed();
        if (state.mode === "items")
            colour(state.items);
        drawHistory();
        if (!shown)
            list.wait(state.n);
        try {
            const [answer] = await Promise.all([question(signal), readPast(signal)]);
            if (!signal.aborted)
                show(answer, deed);
        } catch (error) {
            if (!signal.aborted)
                fail(error);
        }
    }

    // The colours of a long history go to what counts most in this list.
    function colourBySum(entries) {
        const sum = new Map();
        for (const entry of entries)
            for (const reason of entry.reasons || [])
                if (isItem(reason.id))
                    sum.set(reason.id, (sum.get(reason.id) || 0) + reason.share);
        colour([...sum.keys()].sort((a, b) => sum.get(b) - sum.get(a)).slice(0, COLOURS));
    }

    function show(answer, deed) {
        if (!answer) {
            list.clear();
            headline("Recommendations", "");
            empty("Whose list?", "Type the id of a user of the store, or choose “Somebody new”.");
            drawHistory();
            detail.clear();
            return;
        }
        const { data, ms } = answer, entries = data.items;
        for (const entry of entries) {
            remember(entry.id, entry.title);
            for (const reason of entry.reasons || [])
                remember(reason.id, reason.title);
        }
        if (state.mode === "user" || state.items.length > COLOURS)
            colourBySum(entries);
        const plain = (entry) => (data.popular ? `${plural(entry.score, "event", "events")}` : data.fallback ? "popular" : "");
        const kind = data.popular ? "popular" : "list";
        const fresh = list.show(entries, { plain, compare: shown === kind, addLabel });
        headline(data.popular ? "Popular now" : state.mode === "user" ? `For ${state.user}` : "For this history",
            data.popular && entries.length === 0 ? "" : data.popular ? "Most events first. Add an item, and the list becomes personal." : `${plural(entries.length, "item", "items")} in ${milliseconds(ms)}${data.model ? `, model ${data.model}` : ""}`);
        coverage(data);
        notices(data);
        $("list-empty").replaceChildren(...more(entries));
        drawHistory();
        if (entries.length === 0)
            nothing(data);
        say(`${deed ? deed + ". " : ""}${plural(entries.length, "recommendation", "recommendations")}${shown && fresh ? `, ${fresh} new` : ""}${entries.length ? `; first ${name(entries[0].id)}` : ""}`);
        shown = kind;
        follow(entries);
        learn([...entries.map((entry) => entry.id), ...history().slice(0, CHIPS)], redraw);
    }

    function redraw() {
        drawHistory();
        list.redraw();
        detail.redraw();
    }

    // Beside the list there is always an item: the one chosen by hand, else the first.
    function follow(entries) {
        if (chosen && detail.id() !== null)
            detail.again();
        else if (entries.length && wide.matches)
            detail.open(entries[0].id);
        else
            detail.clear();
        list.mark(detail.id());
    }

    function headline(title, meta) {
        $("list-title").textContent = title;
        $("list-meta").textContent = meta;
    }

    function coverage(data) {
        const known = Number.isFinite(data.coverage) && !data.popular;
        $("coverage").hidden = !known;
        if (known) {
            $("coverage-fill").style.setProperty("--width", String(Math.max(0, Math.min(1, data.coverage))));
            $("coverage-text").textContent = `${percent(data.coverage)} of the history used`;
        }
    }

    function notices(data) {
        const lines = [];
        if (data.fallback && state.mode === "user" && past.length === 0)
            lines.push("Nothing is recorded of this user, so the list is by popularity. Search for an item to record a first event: they are served at once, without training.");
        else if (data.fallback)
            lines.push("The model can use nothing of this history, so the list is by popularity.");
        if (data.unknown)
            lines.push(`${plural(data.unknown, "item is", "items are")} unknown to the model and left out.`);
        $("list-notice").replaceChildren(...lines.map((text) => el("p", { class: "notice", text })));
    }

    function more(entries) {
        if (entries.length < state.n || state.n >= MOST)
            return [];
        return [el("p", { class: "more" }, el("button", { type: "button", class: "button", onclick: () => { state.n = Math.min(MOST, state.n + STEP); refresh(); } }, "Show more"))];
    }

    // ---- When there is no list

    function empty(title, text, ...extra) {
        $("list-empty").replaceChildren(el("div", { class: "blank" }, el("h3", { text: title }), el("p", { text }), ...extra));
    }

    function nothing(data) {
        if (!data.popular) {
            empty("Nothing is left to recommend", "Everything is in the history or ruled out.");
            return;
        }
        const address = new URL("api/feedback", document.baseURI).href;
        empty("No items yet", "The store is empty. Send an event, and this page has something to show:",
            el("pre", null, el("code", { text: `curl -X POST ${address} \\\n  -H 'Content-Type: application/json' \\\n  -d '[{"FeedbackType": "${state.type}", "UserId": "ada", "ItemId": "first-item"}]'` })),
            el("button", { type: "button", class: "button", onclick: () => refresh() }, "Look again"));
    }

    function fail(error) {
        if (error.status === 0)
            return; // the banner tells, and the list is asked for again when the server is back
        list.clear();
        shown = null;
        headline("Recommendations", "");
        $("coverage").hidden = true;
        $("list-notice").replaceChildren();
        detail.clear();
        drawHistory();
        if (error.needsKey)
            empty("A key is needed", sentence(error.message), el("button", { type: "button", class: "button strong", onclick: async () => { if (await askKey(error.message)) refresh(); } }, "Enter the key"));
        else if (error.status === 404 && state.mode === "user")
            empty(`Nobody called “${state.user}” yet`, "Search for an item above to record a first event: they are served at once, without training.");
        else if (error.code === "NOT_READY")
            empty("No model yet", sentence(error.message), el("button", { type: "button", class: "button", onclick: () => refresh() }, "Look again"));
        else
            empty("No list", sentence(error.message), el("button", { type: "button", class: "button", onclick: () => refresh() }, "Try again"));
        say(error.message);
    }

    // ---- Wiring

    combobox($("search"), $("found"), { pick: add, taken, back: () => { const ids = history(); if (state.mode === "items" && ids.length) remove(ids[ids.length - 1]); } });
    $("chips").addEventListener("keydown", (event) => chipKeys(event, remove));
    $("denied-chips").addEventListener("keydown", (event) => chipKeys(event, allow));
    $("clear").addEventListener("click", () => { state.items = []; $("search").focus(); refresh("history cleared"); });
    $("undeny").addEventListener("click", () => { state.denied = []; $("search").focus(); refresh("all items allowed"); });
    for (const mode of ["items", "user"])
        $(`mode-${mode}`).addEventListener("change", () => { setMode(mode); refresh(); });
    $("user-form").addEventListener("submit", (event) => { event.preventDefault(); setUser($("user").value.trim()); refresh(); });
    $("user").addEventListener("change", () => { if ($("user").value.trim() !== state.user) { setUser($("user").value.trim()); refresh(); } });
    $("record").addEventListener("submit", (event) => { event.preventDefault(); record([...state.items], $("record-user").value.trim()); });
    wide.addEventListener("change", () => follow(list.ids().map((id) => ({ id }))));

    async function suggest() {
        try {
            const { data } = await api.users(12);
            $("users").replaceChildren(...(data.Users || []).map((one) => el("option", { value: one.UserId })));
            const some = (await api.someFeedback()).data.Feedback;
            if (some && some.length)
                state.type = some[0].FeedbackType;
        } catch {
            // Suggestions only.
        }
    }

    // The part of the address after "#explore?", so that a list can be reloaded, bookmarked and sent.
    function toAddress() {
        const found = new URLSearchParams();
        if (state.mode === "user")
            found.append("user", state.user);
        else
            for (const id of state.items)
                found.append("item", id);
        for (const id of state.denied)
            found.append("not", id);
        return found.toString();
    }

    function fromAddress(text) {
        const found = new URLSearchParams(text);
        state.denied = found.getAll("not");
        setMode(found.has("user") ? "user" : "items");
        setUser(found.get("user") || "");
        state.items = found.getAll("item");
    }

    return { refresh, suggest, toAddress, fromAddress, search: () => $("search").focus() };
}

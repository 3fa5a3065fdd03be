// names.js - what items are called, and which colour stands for which item of the history.
import * as api from "./api.js";

export const COLOURS = 8; // --c0 … --c7 of style.css
const titles = new Map(); // id -> title
const asked = new Set(); // ids whose title was asked for

// Parts of a score that belong to no item of the history.
const NO_ITEM = new Map([
    ["(any user)", "suits anybody"],
    ["(own embedding)", "the user's own vector"],
    ["(popularity)", "is popular"],
    ["(the rest)", "the rest"],
]);

export const isItem = (id) => !NO_ITEM.has(id);

export function remember(id, title) {
    if (typeof title === "string" && title)
        titles.set(id, title);
}

export const name = (id) => titles.get(id) || NO_ITEM.get(id) || id;

// Asks the store for titles that no answer has brought along, and calls done when one of them differs from its id.
export async function learn(ids, done) {
    const wanted = ids.filter((id) => isItem(id) && !titles.has(id) && !asked.has(id)).slice(0, 40);
    let news = false;
    for (const id of wanted)
        asked.add(id);
    await Promise.all(wanted.map(async (id) => {
        try {
            const { data } = await api.item(id);
            const label = data.Labels && !Array.isArray(data.Labels) ? data.Labels.title : undefined;
            remember(id, data.Comment || label);
            news = news || titles.has(id);
        } catch {
            asked.delete(id); // the id will do; asked again the next time
        }
    }));
    if (news)
        done();
}

// id -> 0 … COLOURS-1. An item keeps its colour as long as it is among those that have one.
let slots = new Map();

export function colour(ids) {
    const wanted = ids.filter(isItem).slice(0, COLOURS);
    const kept = new Map(wanted.filter((id) => slots.has(id)).map((id) => [id, slots.get(id)]));
    const taken = new Set(kept.values());
    let next = 0;
    for (const id of wanted) {
        if (kept.has(id))
            continue;
        while (taken.has(next))
            next++;
        kept.set(id, next);
        taken.add(next);
    }
    slots = kept;
}

// The value of a custom property: the item's colour, or that of everything else.
export const colourOf = (id) => (slots.has(id) ? `var(--c${slots.get(id)})` : "var(--c-none)");

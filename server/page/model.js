// model.js - which model serves, how it was trained, which others there are; activate, roll back, retrain, refresh.
import * as api from "./api.js";
import { lineChart } from "./chart.js";
import { $, ago, count, el, score, seconds, short, time, timeElement, toast } from "./dom.js";
import { askKey } from "./key.js";

// The model, unless it only counts: until there is one, a server serves what is popular.
export const trained = (model) => (model && model.name && (model.number || model.file) ? model : null);

export function modelPanel({ poll }) {
    const place = $("model");
    const served = el("section", { class: "card served", "aria-labelledby": "served-title" });
    const curves = el("section", { class: "card curves", "aria-labelledby": "curves-title" });
    const train = el("section", { class: "card train", "aria-labelledby": "train-title" });
    const others = el("section", { class: "card others", "aria-labelledby": "others-title" });
    let drawn = {}; // what each section shows, to leave alone what has not changed
    let busy = false;
    place.append(el("div", { class: "model" }, served, curves, train, others));
    served.append(el("p", { class: "hint", text: "…" }));

    async function deed(name, body, done) {
        if (busy)
            return;
        busy = true;
        try {
            await api.modelDeed(name, body);
            toast(done);
        } catch (error) {
            if (error.needsKey && await askKey(error.message)) {
                busy = false;
                return deed(name, body, done);
            }
            toast(`Not done: ${error.message}`, true);
        } finally {
            busy = false;
        }
        drawn = {};
        poll();
    }

    // Calls draw when the text of what it shows has changed; what has the focus keeps it.
    function once(part, node, value, draw) {
        const text = JSON.stringify(value);
        if (drawn[part] === text)
            return;
        drawn[part] = text;
        const held = node.contains(document.activeElement) ? document.activeElement.dataset.deed : null;
        node.replaceChildren(...draw().filter(Boolean));
        if (held) {
            const again = [...node.querySelectorAll("[data-deed]")].find((one) => one.dataset.deed === held && !one.disabled);
            (again || $("tab-model")).focus();
        }
    }

    const fact = (term, ...value) => el("div", { class: "fact" }, el("dt", { text: term }), el("dd", null, ...value));

    function drawServed(model) {
        if (!model)
            return [el("div", { class: "blank" }, el("h2", { id: "served-title", text: "No model yet" }),
                el("p", { text: "Lists are by popularity until there are enough events to train on. Training starts by itself then, or below." }))];
        return [
            el("div", { class: "served-head" },
                el("p", { class: "number", "aria-hidden": "true", text: model.number ? String(model.number) : "•" }),
                el("div", null, el("h2", { id: "served-title", text: model.number ? `Model ${model.number} serves` : "The model given at the start serves" }), el("p", { class: "hint" }, `${model.name}, since `, timeElement(model.since))),
                Number.isFinite(model.validation) ? el("p", { class: "valid" }, el("strong", { text: score(model.validation) }), el("span", { text: "validation NDCG@20" })) : null),
            el("dl", { class: "facts" },
                fact("Trained", timeElement(model.trained)),
                fact("Users", count(model.users)), fact("Items", count(model.items)),
                fact("Dimensions", Number.isFinite(model.dim) && model.dim > 0 ? String(model.dim) : "–"),
                fact("Parameters", short(model.parameters)),
                fact("File", el("code", { text: model.file || "–" })))];
    }

    function drawCurves(record) {
        const of = (field) => (record || []).filter((row) => Number.isFinite(row[field])).map((row) => [row.epoch + 1, row[field]]); // people count from 1
        const loss = of("loss"), metric = of("ndcg@20");
        const head = el("h2", { id: "curves-title", text: "How it learned" });
        if (loss.length < 2 && metric.length < 2)
            return [head, el("p", { class: "hint", text: "This model has no curves: it was solved in closed form, or its file keeps no record." })];
        const best = metric.reduce((at, point, n) => (at < 0 || point[1] > metric[at][1] ? n : at), -1);
        return [head, el("div", { class: "charts" },
            metric.length > 1 ? lineChart({ label: "validation NDCG@20", points: metric, best, colour: "var(--accent)" }) : null,
            loss.length > 1 ? lineChart({ label: "loss", points: loss, best: -1, colour: "var(--c1)" }) : null)];
    }

    function drawTrain(retraining, freshness) {
        const last = retraining.last && typeof retraining.last === "object" ? retraining.last : null;
        const lines = [];
        if (last) {
            const scores = Number.isFinite(last.score) ? ` It scores ${score(last.score)} on the newest events${Number.isFinite(last.score_before) ? `, the one before ${score(last.score_before)}` : ""}.` : "";
            const done = last.started + (last.seconds || 0);
            const end = last.result === "swapped" ? `Model ${last.number} was trained ${ago(done)} and serves.` : last.result === "kept" ? `Model ${last.number} was trained ${ago(done)}; it is not as good as the one in use and does not serve.`
                : `The training of ${ago(last.started)} failed: ${last.error || "no reason given"}.`;
            lines.push(el("p", { class: last.result === "failed" ? "hint bad" : "hint", text: end + scores }));
        }
        return [el("h2", { id: "train-title", text: "Train again" }),
            el("p", { class: "hint", text: "In a process of its own, at low priority. The new model serves if it is at least as good on the newest events." }),
            retraining.running ? el("p", { class: "running" }, el("span", { class: "spinner", "aria-hidden": "true" }),
                el("span", { text: `${retraining.stage || "training"}${time(retraining.started) ? `, begun ${ago(retraining.started)}` : ""}` })) : null,
            ...lines,
            el("p", { class: "deeds" },
                el("button", { type: "button", class: "button strong", "data-deed": "retrain", disabled: retraining.running, onclick: () => deed("retrain", undefined, "Training begins.") }, retraining.running ? "Training…" : "Retrain now"),
                el("button", { type: "button", class: "button", "data-deed": "refresh", onclick: () => deed("refresh", undefined, "Every event counts for everybody.") },
                    "Refresh now")),
            el("p", { class: "hint", text: `A refresh lets events count for everybody; it needs no training${Number.isFinite(freshness.last_refresh_seconds) && freshness.refreshes ? ` and last took ${seconds(freshness.last_refresh_seconds)}` : ""}.` })];
    }

    function drawOthers(models, current) {
        const sorted = [...models].filter((one) => !current || one.number !== current.number).sort((a, b) => b.number - a.number);
        const head = el("div", { class: "others-head" }, el("h2", { id: "others-title", text: "Other models" }),
            sorted.length ? el("button", { type: "button", class: "button", "data-deed": "rollback", onclick: () => deed("rollback", undefined, "Rolled back.") }, "Roll back") : null);
        if (sorted.length === 0)
            return [head, el("p", { class: "hint", text: "None. After a retraining the last few stay here, to go back to." })];
        // On the newest events, which is what models are compared by; else on their own validation parts.
        const value = (one) => (Number.isFinite(one.score) ? one.score : one.validation);
        const difference = (one) => (current ? value(one) - value(current) : NaN);
        return [head, el("ul", { class: "model-rows" }, sorted.map((one) => el("li", null,
            el("span", { class: "number small", "aria-hidden": "true", text: String(one.number) }),
            el("span", { class: "model-name" }, el("span", { text: `Model ${one.number}` }), el("span", { class: "hint" }, `${one.name || ""}, trained `, timeElement(one.trained))),
            el("span", { class: "model-score" }, el("span", { text: score(value(one)) }),
                Number.isFinite(difference(one)) ? el("span", { class: "hint", text: `${difference(one) < 0 ? "\u2212" : "+"}${Math.abs(difference(one)).toFixed(4)}` }) : null),
            el("button", { type: "button", class: "button", "data-deed": `activate-${one.number}`, "aria-label": `Activate model ${one.number}`, onclick: () => deed("activate", { number: one.number }, `Model ${one.number} serves.`) }, "Activate"))))];
    }

    function update(data) {
        const minute = Math.floor(Date.now() / 60000); // "5 min ago" grows old
        const model = trained(data.model);
        const retraining = data.retraining || {}, freshness = data.freshness || {};
        once("served", served, [model && { ...model, record: null }, minute], () => drawServed(model));
        curves.hidden = !model;
        once("curves", curves, model && [model.number, model.record], () => drawCurves(model && model.record));
        once("train", train, [retraining, freshness.last_refresh_seconds, minute], () => drawTrain(retraining, freshness));
        once("others", others, [data.models, model && model.number, minute], () => drawOthers(data.models || [], model));
    }

    return { update };
}

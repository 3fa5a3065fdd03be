// page_operations.mjs - the second half of page.mjs: model and load, keys, an empty store, a server that goes away.
import assert from "node:assert/strict";
import { ask, check, openPage, pause, shot, start, world } from "./page_world.mjs";

const ENTRY = "#entries .entry-main";

async function modelChecks(base) {
    const { page, faults, close } = await openPage(base);
    await check("the model's panel says what /api/model says, and draws every point of its curves", async () => {
        await page.goto(`${base}#model`);
        await page.waitForSelector("#model .chart-line");
        const { model } = await ask(base, "GET", "api/model");
        const text = await page.textContent("#model .served");
        assert.ok(text.includes(model.name) && text.includes(model.validation.toFixed(4)) && text.includes(model.items.toLocaleString("en")), text);
        const points = await page.locator("#model .chart-line").evaluateAll((all) => all.map((one) => one.getAttribute("d").split(/[ML]/).length - 1));
        const wanted = ["ndcg@20", "loss"].map((field) => model.record.filter((row) => Number.isFinite(row[field])).length).filter((many) => many > 1);
        assert.ok(wanted.length === 2 && wanted[1] > 3, `the record has ${wanted} points: train longer`);
        assert.deepEqual(points, wanted);
        const outside = await page.locator("#model .chart").evaluateAll((all) => all.flatMap((one) => [...one.querySelectorAll("text, path, circle")].map((part) => part.getBBox())
            .filter((box) => box.x < -0.5 || box.y < -0.5 || box.x + box.width > one.clientWidth + 0.5 || box.y + box.height > one.clientHeight + 0.5)));
        assert.deepEqual(outside, [], "something is drawn outside of its picture");
    });

    await check("a refresh lets new events count for everybody", async () => {
        await ask(base, "POST", "api/feedback", [{ FeedbackType: world.type, UserId: "fresh", ItemId: "jazz-004", Timestamp: new Date().toISOString(), Comment: "" }]);
        const before = (await ask(base, "GET", "api/model")).freshness.refreshes;
        await page.click("[data-deed=refresh]");
        await page.waitForFunction(() => /counts for everybody/.test(document.querySelector("#toast").textContent));
        for (let n = 0; n < 50 && (await ask(base, "GET", "api/model")).freshness.refreshes === before; n++)
            await pause(100);
        assert.ok((await ask(base, "GET", "api/model")).freshness.refreshes > before);
    });

    await check("load: numbers of /api/status, lines that grow every two seconds, and silence while hidden", async () => {
        await page.click("#tab-load");
        const length = () => page.locator(".tile-memory .spark-line").getAttribute("d").then((line) => (line || "").split(/[ML]/).length);
        const first = await length();
        await pause(4500);
        const second = await length();
        assert.ok(second >= first + 2, `${first} points, then ${second}`);
        const status = await ask(base, "GET", "api/status");
        assert.ok((await page.textContent(".tile-store")).includes(status.store.items.toLocaleString("en")));
        let asked = 0;
        page.on("request", () => asked++);
        await page.evaluate(() => { Object.defineProperty(document, "hidden", { value: true, configurable: true }); document.dispatchEvent(new Event("visibilitychange")); });
        await pause(300);
        asked = 0;
        await pause(4500);
        assert.equal(asked, 0, "the page asks while nobody looks");
        await page.evaluate(() => { delete document.hidden; document.dispatchEvent(new Event("visibilitychange")); });
        await pause(500);
        assert.ok(asked >= 2, "the page asks again when somebody looks");
    });
    await check("no error in the console on model and load", async () => assert.deepEqual(faults, []));
    await close();
}

async function goneChecks(server) {
    const { page, faults, close } = await openPage(server.base, { silent: true });
    let again = server;
    await check("the server goes: the page says so and keeps its list; it comes back: so does the page", async () => {
        await page.goto(`${server.base}#explore?item=jazz-004`);
        await page.waitForSelector(ENTRY);
        await server.stop();
        await page.waitForSelector("#gone", { state: "visible", timeout: 8000 });
        assert.ok(await page.locator(ENTRY).count() > 0, "the last list stays");
        await shot(page, "gone");
        again = await start("demo", server.port);
        await page.click("#gone-retry");
        await page.waitForSelector("#gone", { state: "hidden" });
        await page.fill("#search", "metal-001");
        await page.waitForSelector("#found [role=option]");
        await page.keyboard.press("Enter");
        await page.waitForFunction(() => document.querySelectorAll("#chips .chip").length === 2);
        assert.deepEqual(faults, []);
    });
    await close();
    return again;
}

async function keyChecks() {
    const server = await start("keyed");
    const number = () => ask(server.base, "GET", "api/model", undefined, world.key).then((found) => found.model?.number);
    for (let n = 0; n < 600 && !await number(); n++) // it trains its first model by itself
        await pause(100);
    const { page, faults, close } = await openPage(server.base, { silent: true });
    await check("without a key the page asks for one, says when it is wrong, and forgets it with the tab", async () => {
        await page.goto(server.base);
        await page.waitForSelector("#locked", { state: "visible" });
        await shot(page, "key-needed");
        await page.click("#locked-key");
        await page.fill("#key", "wrong");
        await page.keyboard.press("Enter");
        await page.waitForSelector("#locked", { state: "visible" });
        await page.waitForFunction(() => /key/.test(document.querySelector("#list-empty").textContent));
        await page.click("#locked-key");
        await shot(page, "key-dialog");
        await page.fill("#key", world.key);
        await page.keyboard.press("Enter");
        await page.waitForSelector(ENTRY);
        await page.waitForSelector("#locked", { state: "hidden" });
        assert.equal(await page.evaluate(() => Object.values(localStorage).length + document.cookie.length), 0);
        assert.equal(await page.evaluate(() => sessionStorage.length), 1);
    });

    await check("with the key: retrain, see it serve, roll back, activate", async () => {
        await page.click("#tab-model");
        const before = await number();
        assert.ok(before > 0, "no model after a minute");
        await page.click("[data-deed=retrain]");
        await page.waitForFunction(() => /Training…/.test(document.querySelector("[data-deed=retrain]").textContent));
        await page.waitForFunction((next) => new RegExp(`Model ${next} was trained|failed`).test(document.querySelector(".train").textContent), before + 1, { timeout: 240000 });
        await pause(300);
        await shot(page, "retrained");
        assert.match(await page.textContent(".train"), /and serves|does not serve/);
        const one = page.locator("[data-deed^=activate]").first();
        await one.waitFor();
        const wanted = Number((await one.getAttribute("data-deed")).replace("activate-", ""));
        await one.click();
        await page.waitForFunction((n) => document.querySelector("#served-title").textContent === `Model ${n} serves`, wanted);
        assert.equal(await number(), wanted);
        await page.click("[data-deed=rollback]");
        await page.waitForFunction((n) => document.querySelector("#served-title").textContent !== `Model ${n} serves`, wanted);
        assert.notEqual(await number(), wanted);
    });
    await check("no error in the console with keys", async () => assert.deepEqual(faults, []));
    await close();
    await server.stop();
}

async function emptyChecks() {
    const server = await start("empty");
    const { page, faults, close } = await openPage(server.base);
    await check("an empty store: the page says how to begin, and there is no model yet", async () => {
        await page.goto(server.base);
        await page.waitForFunction(() => /No items yet/.test(document.querySelector("#list-empty").textContent));
        await shot(page, "empty");
        await page.click("#tab-model");
        await page.waitForFunction(() => /No model yet/.test(document.querySelector("#model").textContent));
        await ask(server.base, "POST", "api/feedback", [{ FeedbackType: world.type, UserId: "ada", ItemId: "first-item", Timestamp: new Date().toISOString(), Comment: "" }]);
        await page.click("#tab-explore");
        await page.click("#list-empty button");
        await page.waitForSelector(ENTRY);
        assert.equal(await page.textContent("#entries .entry-title"), "first-item");
        assert.deepEqual(faults, []);
    });
    await close();
    await server.stop();
}

// Stops the server.
export async function operations(server, wanted) {
    if (wanted("model"))
        await modelChecks(server.base);
    const again = wanted("gone") ? await goneChecks(server) : server;
    await again.stop();
    if (wanted("keys"))
        await keyChecks();
    if (wanted("empty"))
        await emptyChecks();
}

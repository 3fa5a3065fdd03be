// page.mjs - the page at / of `inmo serve` in Chromium, as a person uses it: what it shows is what the server answers.
//
//     node page.mjs WORLD.json [PART...]     check_page.py writes the file: servers, modules, where screenshots go
//
// Parts: explorer, events, keyboard, looks, model, gone, keys, empty; all of them without a name.
//
// The store's log has an item whose id is markup (world.markup); everywhere it has to appear as text.
import assert from "node:assert/strict";
import { accessibility, ask, check, closeAll, DESKTOP, openBrowser, openPage, pause, PHONE, shot, start, summary, world } from "./page_world.mjs";
import { operations } from "./page_operations.mjs";

const MINUS = /\u2212/g;
const list = (page) => page.locator("#entries .entry-title").allTextContents();
const ids = (page) => page.locator("#entries .entry").evaluateAll((rows) => rows.map((row) => (row.querySelector(".entry-id").textContent || row.querySelector(".entry-title").textContent)));
const percents = (page, place) => page.locator("#entries .entry").nth(place).locator(".reason").allTextContents();
const percent = (share) => { const value = share * 100; return `${Math.abs(value) > 0 && Math.abs(value) < 1 ? value.toFixed(1) : value.toFixed(0)} %`; };

// Types into the search field and waits for what is found by all of it: the list for a part of it may come before.
async function typed(page, text) {
    await page.keyboard.type(text);
    await page.waitForFunction((wanted) => document.querySelector("#found [role=option] mark")?.textContent.toLowerCase() === wanted, text);
}

// Waits until the list has changed from what it was.
async function changed(page, before) {
    await page.waitForFunction((was) => {
        const now = [...document.querySelectorAll("#entries .entry-title")].map((one) => one.textContent);
        return now.length > 0 && JSON.stringify(now) !== was;
    }, JSON.stringify(before));
}

async function ready(page, base, hash = "") {
    await page.goto(base + hash);
    await page.waitForSelector("#entries .entry-main");
}

async function addItem(page, text) {
    await page.fill("#search", text);
    await page.waitForFunction((wanted) => [...document.querySelectorAll("#found [role=option]")].some((one) => one.textContent.includes(wanted)), text);
    await page.keyboard.press("Enter");
    await page.waitForFunction((wanted) => [...document.querySelectorAll("#chips .chip")].some((one) => one.dataset.id === wanted), text);
}

async function explorerChecks(base) {
    const { page, faults, close } = await openPage(base);
    await check("the page opens with what is popular, under a policy that forbids all that is not ours", async () => {
        const answer = await page.goto(base);
        const policy = answer.headers()["content-security-policy"] || "";
        assert.match(policy, /default-src 'self'/);
        assert.doesNotMatch(policy, /unsafe/);
        await page.waitForSelector("#entries .entry-main");
        const popular = await ask(base, "GET", "api/search?q=&n=20");
        assert.deepEqual(await ids(page), popular.map((item) => item.id));
        assert.equal(await page.textContent("#list-title"), "Popular now");
    });

    await check("a history is typed, and the list changes with each item of it", async () => {
        const first = await list(page);
        await addItem(page, "jazz-004");
        await changed(page, first);
        const second = await list(page);
        await addItem(page, "opera-002");
        await changed(page, second);
        const answer = await ask(base, "POST", "api/recommend", { items: ["jazz-004", "opera-002"], n: 20, explain: 3 });
        assert.deepEqual(await ids(page), answer.items.map((item) => item.id));
        assert.equal(answer.items.length, 20);
        assert.match(await page.textContent("#said"), /20 recommendations/);
        assert.match(await page.textContent("#coverage-text"), new RegExp(percent(answer.coverage)));
    });

    await check("each entry has its reasons, with the server's shares, and a bar in their colours", async () => {
        const answer = await ask(base, "POST", "api/recommend", { items: ["jazz-004", "opera-002"], n: 20, explain: 3 });
        for (const place of [0, 1, 7]) {
            const wanted = answer.items[place].reasons.filter((one) => one.share > 0 && !one.id.startsWith("(")).map((one) => `${one.title || one.id} ${percent(one.share)}`);
            assert.ok(wanted.length > 0, "the server gives no reasons");
            assert.deepEqual((await percents(page, place)).map((text) => text.trim()), wanted);
        }
        const colours = await page.locator("#entries .entry").first().locator(".segment:not(.rest)").evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
        const chips = await page.locator("#chips .swatch").evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
        assert.equal(new Set(chips).size, 2);
        assert.ok(colours.length && colours.every((colour) => chips.includes(colour)), `${colours} are not among ${chips}`);
    });

    await check("a click tells why exactly: parts that sum to the score, and what is near", async () => {
        await page.locator("#entries .entry-main").nth(2).click();
        const item = (await ids(page))[2];
        const why = await ask(base, "POST", "api/session/explain", { items: ["jazz-004", "opera-002"], item });
        await page.waitForFunction((wanted) => document.querySelectorAll("#detail .parts tbody tr").length === wanted, why.parts.length);
        const shown = (await page.locator("#detail .parts tbody td:nth-child(2)").allTextContents()).map((text) => Number(text.replace(MINUS, "-")));
        const total = Number(await page.textContent("#detail .parts tfoot td"));
        assert.ok(Math.abs(shown.reduce((a, b) => a + b, 0) - total) < 0.0001 * (shown.length + 1), `${shown} do not sum to ${total}`);
        assert.ok(Math.abs(total - why.score) < 0.0001);
        const near = await ask(base, "GET", `api/item/${encodeURIComponent(item)}/neighbors?n=8`);
        assert.equal(await page.locator("#detail .near li").count(), near.length);
        assert.equal(await page.locator("#entries .chosen").count(), 1);
    });

    await check("what is ruled out goes and comes back", async () => {
        const before = await list(page), gone = (await ids(page))[0];
        await page.locator("#entries .entry").first().locator("button").nth(2).click();
        await changed(page, before);
        assert.ok(!(await ids(page)).includes(gone));
        assert.equal(await page.locator("#denied-chips .chip").count(), 1);
        const without = await list(page);
        await page.locator("#denied-chips button").click();
        await changed(page, without);
        assert.deepEqual(await list(page), before);
        await page.waitForSelector("#denied", { state: "hidden" });
    });

    await check("a recommendation joins the history, and leaves it again", async () => {
        const before = await list(page), joined = (await ids(page))[1];
        await page.locator("#entries .entry").nth(1).locator("button").nth(1).click();
        await changed(page, before);
        assert.ok(!(await ids(page)).includes(joined));
        assert.equal(await page.locator("#chips .chip").count(), 3);
        const now = await list(page);
        await page.locator("#chips .chip button").nth(2).click();
        await changed(page, now);
        assert.deepEqual(await list(page), before);
    });

    await check("the address holds the history: a reload shows the same list", async () => {
        const before = await list(page);
        await page.reload();
        await page.waitForFunction(() => document.querySelectorAll("#chips .chip").length === 2 && document.querySelector("#list-title").textContent === "For this history");
        await page.waitForSelector("#entries .entry-main");
        assert.deepEqual(await list(page), before);
    });

    await check("an item whose id is markup is text everywhere", async () => {
        const before = await list(page);
        await page.fill("#search", world.markup.slice(0, 8));
        await page.waitForFunction((wanted) => [...document.querySelectorAll("#found [role=option] .found-name")].some((one) => one.textContent === wanted), world.markup);
        await page.keyboard.press("Enter");
        await changed(page, before);
        await page.locator("#chips .chip").nth(2).waitFor();
        assert.equal(await page.locator("#chips .chip-name").nth(2).textContent(), world.markup);
        await page.goto(`${base}#explore?item=${encodeURIComponent("jazz-004")}&not=${encodeURIComponent(world.markup)}&user=`);
        await ready(page, base, `#explore?not=${encodeURIComponent(world.markup)}`);
        assert.equal(await page.locator("#denied-chips .chip-name").textContent(), world.markup);
        await page.locator("#denied-chips button").click();
        const place = (await ask(base, "GET", "api/search?q=&n=20")).findIndex((item) => item.id === world.markup);
        assert.ok(place >= 0, "the log is made so that this item is among the popular ones");
        await page.waitForFunction((wanted) => [...document.querySelectorAll("#entries .entry-title")].some((one) => one.textContent === wanted), world.markup);
        await page.locator("#entries .entry-main").nth(place).click();
        await page.waitForFunction((wanted) => document.querySelector(".detail-title").textContent === wanted, world.markup);
        await addItem(page, "opera-001");
        assert.equal(await page.locator("#chips .chip-name").first().textContent(), "<script>window.hacked = 2</script>");
        assert.equal(await page.locator("main img, main script").count(), 0);
        assert.equal(await page.evaluate(() => window.hacked), undefined);
    });

    await check("nothing was said in the console, and nothing was asked of others", async () => assert.deepEqual(faults, []));
    await close();
}

async function eventChecks(base) {
    const { page, faults, close } = await openPage(base);
    const user = "visitor-of-the-test";
    await check("a history is recorded, and an event later the list of that user has changed", async () => {
        await ready(page, base);
        const popular = await list(page);
        await addItem(page, "jazz-004");
        await changed(page, popular);
        await page.fill("#record-user", user);
        await page.click("#record-go");
        await page.waitForFunction((wanted) => document.querySelector("#list-title").textContent === `For ${wanted}`, user);
        await page.waitForFunction(() => document.querySelectorAll("#chips .chip").length === 1 && document.querySelector("#entries .entry-main"));
        const before = await list(page);
        const stored = await ask(base, "GET", `api/user/${user}/feedback`);
        assert.deepEqual(stored.map((one) => one.ItemId), ["jazz-004"]);
        await addItem(page, "metal-001");
        await changed(page, before);
        const answer = await ask(base, "POST", "api/recommend", { user, n: 20 });
        assert.deepEqual(await ids(page), answer.items.map((item) => item.id));
        assert.ok(!(await ids(page)).includes("metal-001"));
        await page.waitForFunction(() => /stored in .*s; this list/.test(document.querySelector("#toast").textContent));
    });

    await check("an item near the chosen one is recorded from the pane, and forgotten by its chip", async () => {
        await page.locator("#entries .entry-main").first().click();
        await page.waitForSelector("#detail .near li");
        const before = await list(page);
        await page.click("#detail .button.strong");
        await changed(page, before);
        await page.waitForFunction(() => document.querySelectorAll("#chips .chip").length === 3);
        const now = await list(page), forgotten = await page.locator("#chips .chip").first().getAttribute("data-id");
        await page.locator("#chips .chip button").first().click();
        await changed(page, now);
        const stored = await ask(base, "GET", `api/user/${user}/feedback`);
        assert.equal(stored.length, 2);
        assert.ok(!stored.some((one) => one.ItemId === forgotten));
    });

    await check("a user of the log is chosen by their id", async () => {
        const known = (await ask(base, "GET", "api/users?n=5")).Users[0].UserId;
        await page.fill("#user", known);
        await page.keyboard.press("Enter");
        await page.waitForFunction((wanted) => document.querySelector("#list-title").textContent === `For ${wanted}`, known);
        const answer = await ask(base, "POST", "api/recommend", { user: known, n: 20 });
        assert.deepEqual(await ids(page), answer.items.map((item) => item.id));
        assert.ok(await page.locator("#chips .chip").count() > 0);
    });

    await check("somebody unknown is told so, and is served after a first event", async () => {
        await page.fill("#user", "nobody-yet");
        await page.keyboard.press("Enter");
        await page.waitForFunction(() => /nobody-yet/.test(document.querySelector(".list").textContent) && /first event/.test(document.querySelector(".list").textContent));
        await addItem(page, "jazz-004");
        await page.waitForFunction(() => document.querySelector("#entries .reason"));
        assert.equal(await page.textContent("#list-title"), "For nobody-yet");
    });
    await check("no error in the console while recording", async () => assert.deepEqual(faults.filter((one) => !/status of 404/.test(one)), []));
    await close();
}

async function keyboardChecks(base) {
    const { page, faults, close } = await openPage(base);
    const focused = () => page.evaluate(() => { const one = document.activeElement; return one.id || one.className || one.tagName; });
    await check("with the keyboard alone: search, choose, remove, walk the list, see why, add, rule out", async () => {
        await ready(page, base);
        const popular = await list(page);
        await page.keyboard.press("/");
        assert.equal(await focused(), "search");
        await typed(page, "jazz-00");
        await page.keyboard.press("ArrowDown");
        const meant = await page.getAttribute("#search", "aria-activedescendant");
        assert.equal(await page.getAttribute(`#${meant}`, "aria-selected"), "true");
        await page.keyboard.press("Enter");
        await changed(page, popular);
        assert.equal(await focused(), "search");
        const one = await list(page);
        await page.keyboard.press("Backspace"); // the last chip
        await changed(page, one);
        await typed(page, "jazz-004");
        await page.keyboard.press("Enter");
        await changed(page, popular);
        for (let n = 0; n < 12 && !/entry-main/.test(await focused()); n++)
            await page.keyboard.press("Tab");
        assert.match(await focused(), /entry-main/);
        await page.keyboard.press("ArrowDown");
        await page.keyboard.press("ArrowDown");
        await page.keyboard.press("Enter");
        const third = (await list(page))[2];
        await page.waitForFunction((wanted) => document.querySelector(".detail-title")?.textContent === wanted, third);
        const before = await list(page);
        await page.keyboard.press("+");
        await changed(page, before);
        assert.equal(await page.locator("#chips .chip").count(), 2);
        assert.match(await focused(), /entry-main/, "the focus stays in the list");
        const next = await list(page);
        await page.keyboard.press("Delete");
        await changed(page, next);
        assert.equal(await page.locator("#denied-chips .chip").count(), 1);
        assert.match(await focused(), /entry-main/);
    });

    await check("every control that Tab reaches shows that it has the focus, and Tab leaves the page again", async () => {
        const seen = new Set();
        let round = false;
        await page.reload();
        await page.waitForSelector("#detail .near li");
        await page.keyboard.press("Tab");
        for (let n = 0; n < 90 && !round; n++) {
            const state = await page.evaluate(() => {
                const one = document.activeElement;
                if (one === document.body)
                    return null;
                const shows = (node) => { const style = getComputedStyle(node); return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2; };
                return { name: `${one.tagName} ${one.id} ${one.className} ${one.getAttribute("aria-label") || ""}`, visible: shows(one) || (one.nextElementSibling !== null && shows(one.nextElementSibling)) };
            });
            if (state === null)
                break;
            assert.ok(state.visible, `${state.name} has no visible focus`);
            round = seen.has(state.name) && seen.size > 12 && /skip/.test(state.name);
            seen.add(state.name);
            await page.keyboard.press("Tab");
        }
        const all = [...seen].join("\n");
        for (const wanted of ["skip", "tab-explore", "mode-items", "search", "chip-drop", "record-user", "entry-main", "round", "detail-user", "near-main"])
            assert.match(all, new RegExp(wanted), `Tab never reached ${wanted}`);
        assert.ok(seen.size < 80, `${seen.size} stops of the Tab key: the list should be one`);
    });

    await check("the arrow keys go through the tabs", async () => {
        await page.focus("#tab-explore");
        await page.keyboard.press("ArrowRight");
        assert.equal(await focused(), "tab-model");
        assert.ok(await page.isVisible("#panel-model") && !await page.isVisible("#panel-explore"));
        await page.keyboard.press("End");
        assert.ok(await page.isVisible("#panel-load"));
        await page.keyboard.press("ArrowRight");
        assert.ok(await page.isVisible("#panel-explore"));
    });
    await check("no error in the console with the keyboard", async () => assert.deepEqual(faults, []));
    await close();
}

async function looks(base) {
    for (const [name, size] of [["desktop", DESKTOP], ["phone", PHONE]])
        for (const scheme of ["light", "dark"]) {
            const { page, faults, close } = await openPage(base, { size, scheme });
            await check(`${name}, ${scheme}: nothing overflows, nothing shifts, WCAG AA by axe-core`, async () => {
                await page.addInitScript(() => {
                    window.shift = 0;
                    new PerformanceObserver((all) => { for (const one of all.getEntries()) if (!one.hadRecentInput) window.shift += one.value; }).observe({ type: "layout-shift", buffered: true });
                });
                await ready(page, base, "#explore?item=jazz-004&item=opera-002&item=techno-001");
                await page.waitForFunction(() => document.querySelectorAll(".reason").length > 3);
                await pause(400);
                assert.ok(await page.evaluate(() => window.shift) < 0.05, `the layout shifts by ${await page.evaluate(() => window.shift)} while the page loads`);
                const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number)[0] < 60);
                assert.equal(dark, scheme === "dark");
                await shot(page, `${name}-${scheme}-explore`);
                assert.deepEqual(await accessibility(page), []);
                if (size === PHONE) {
                    await page.locator("#entries .entry-main").nth(1).click();
                    await page.waitForSelector("#sheet[open] .parts");
                    await pause(200);
                    await shot(page, `${name}-${scheme}-sheet`);
                    assert.deepEqual(await accessibility(page), []);
                    await page.keyboard.press("Escape");
                    await page.waitForSelector("#sheet", { state: "hidden" });
                    assert.equal(await page.evaluate(() => [...document.querySelectorAll(".entry-main")].indexOf(document.activeElement)), 1, "the focus returns to the row");
                    const small = await page.evaluate(() => [...document.querySelectorAll("button, input, a")].filter((one) => one.checkVisibility() && !one.closest(".skip, .foot, label") && !one.matches(".skip"))
                        .map((one) => [one.id || one.className, one.getBoundingClientRect()]).filter(([, box]) => box.width > 0 && (box.width < 24 || box.height < 23)).map(([what, box]) => `${what} ${box.width}x${box.height}`));
                    assert.deepEqual(small, [], "too small for a finger");
                }
                for (const tab of ["model", "load"]) {
                    await page.click(`#tab-${tab}`);
                    await page.waitForSelector(tab === "model" ? "#model .facts" : "#load .tile-value:not(:empty)");
                    await pause(tab === "load" ? 2400 : 300);
                    await shot(page, `${name}-${scheme}-${tab}`, size === PHONE);
                    assert.deepEqual(await accessibility(page), []);
                    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
                    assert.equal(over, 0, `${tab} is ${over} pixels too wide`);
                }
                await page.click("#tab-explore");
                assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0);
                assert.deepEqual(faults, []);
            });
            await close();
        }

    const { page, close } = await openPage(base, { reduced: true });
    await check("nothing moves for those who asked for that", async () => {
        await ready(page, base, "#explore?item=jazz-004");
        const before = await list(page);
        await addItem(page, "metal-001");
        await changed(page, before);
        assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
    });
    await close();
}

// The parts named on the command line, or all.
const wanted = (name) => process.argv.length <= 3 || process.argv.slice(3).includes(name);

async function run() {
    try {
        await openBrowser();
        const server = await start("demo");
        // Titles: one that is markup, and one that differs from its id.
        await ask(server.base, "PATCH", "api/item/opera-001", { Comment: "<script>window.hacked = 2</script>" });
        await ask(server.base, "PATCH", "api/item/jazz-002", { Comment: "Jazz, the second" });
        for (const [name, checks] of Object.entries({ explorer: explorerChecks, events: eventChecks, keyboard: keyboardChecks, looks }))
            if (wanted(name))
                await checks(server.base);
        await operations(server, wanted);
    } finally {
        await closeAll();
    }
    return summary();
}

process.exitCode = await run();

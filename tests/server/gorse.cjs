// gorse.cjs - every method of gorsejs, the client of another server, unchanged: see check_gorse.py.
//
//     node gorse.cjs PACKAGES ADDRESS KEY
"use strict";
const assert = require("node:assert/strict");
const path = require("node:path");

const [packages, address, key] = process.argv.slice(2);
const { Gorse, GorseException } = require(path.join(packages, "node_modules", "gorsejs"));
const client = new Gorse({ endpoint: address, secret: key });
const used = new Set();
const gorse = new Proxy(client, {
  get(target, name) {
    used.add(name);
    return target[name].bind(target);
  },
});

const TIME = "2022-08-07T00:26:46Z";

/** The call must fail as gorsejs says it: a GorseException with the status as its code. */
async function fails(call, code) {
  await assert.rejects(call, (error) => error instanceof GorseException && error.code === code, `expected ${code}`);
}

/** All rows of a list that is given in pages. */
async function pages(next, rows, size) {
  const found = [];
  let Cursor = "";
  do {
    const page = await next({ n: size, ...(Cursor ? { Cursor } : {}) });
    assert.ok(Array.isArray(page[rows]) && page[rows].length <= size, rows);
    found.push(...page[rows]);
    Cursor = page.Cursor;
  } while (Cursor);
  return found;
}

const feedback = (type, user, item, time = TIME) => ({ FeedbackType: type, UserId: user, ItemId: item, Timestamp: time });
const key_of = (row) => [row.FeedbackType, row.UserId, row.ItemId].join(" ");

const tests = {
  async users() {
    const user = { UserId: "100", Labels: ["a", "b", "c"], Subscribe: ["d"], Comment: "comment" };
    assert.equal(await gorse.insertUser(user), 1);
    assert.deepEqual(await gorse.getUser("100"), user);
    assert.equal(await gorse.updateUser("100", { Labels: ["x"] }), 1);
    assert.deepEqual((await gorse.getUser("100")).Labels, ["x"]);
    assert.equal((await gorse.getUser("100")).Comment, "comment");
    assert.equal(await gorse.deleteUser("100"), 1);
    await fails(gorse.getUser("100"), 404);
    assert.equal(await gorse.insertUsers(Array.from({ length: 23 }, (_, n) => ({ UserId: `many-${n}` }))), 23);
    const all = await pages((options) => gorse.getUsers(options), "Users", 7);
    const mine = all.map((row) => row.UserId).filter((id) => id.startsWith("many-"));
    assert.equal(mine.length, 23);
    assert.equal(new Set(mine).size, 23);
    assert.ok((await gorse.getUsers()).Users.length >= 23);
  },

  async items() {
    const item = { ItemId: "200", IsHidden: true, Labels: ["a"], Categories: ["d", "e"], Timestamp: TIME, Comment: "comment" };
    assert.equal(await gorse.upsertItem(item), 1);
    assert.deepEqual(await gorse.getItem("200"), item);
    assert.equal(await gorse.updateItem("200", { IsHidden: false, Comment: "other" }), 1);
    assert.deepEqual(await gorse.getItem("200"), { ...item, IsHidden: false, Comment: "other" });
    assert.equal(await gorse.deleteItem("200"), 1);
    await fails(gorse.getItem("200"), 404);
    const time = new Date(TIME); // a Date, which axios writes with milliseconds
    const many = Array.from({ length: 23 }, (_, n) => ({ ItemId: `many-${n}`, IsHidden: false, Timestamp: time }));
    assert.equal(await gorse.upsertItems(many), 23);
    assert.equal(new Date((await gorse.getItem("many-3")).Timestamp).getTime(), time.getTime());
    const all = await pages((options) => gorse.getItems(options), "Items", 7);
    assert.equal(new Set(all.map((row) => row.ItemId)).size, all.length);
    assert.equal(all.filter((row) => row.ItemId.startsWith("many-")).length, 23);
    assert.ok((await gorse.getItems()).Items.length >= 23);
  },

  async categories() {
    await gorse.upsertItem({ ItemId: "300", IsHidden: false, Categories: ["a"], Timestamp: TIME });
    assert.equal(await gorse.insertItemCategory("300", "b"), 1);
    assert.deepEqual((await gorse.getItem("300")).Categories, ["a", "b"]);
    assert.equal(await gorse.deleteItemCategory("300", "a"), 1);
    assert.deepEqual((await gorse.getItem("300")).Categories, ["b"]);
    await fails(gorse.insertItemCategory("no-such-item", "b"), 404);
  },

  async feedback() {
    const paged = (type, size = 2) => pages((options) => gorse.getFeedbacks(type, options), "Feedback", size);
    const before = (await paged(undefined, 1000)).length; // the model's own interactions
    const rows = [feedback("buy", "u", "i"), feedback("view", "u", "i"), feedback("buy", "u", "j"), feedback("buy", "v", "i")];
    assert.equal(await gorse.insertFeedbacks(rows), 4);
    assert.equal(await gorse.insertFeedbacks([feedback("buy", "u", "i", "2023-01-01T00:00:00Z")]), 0);
    const one = { type: "buy", userId: "u", itemId: "i" };
    assert.equal((await gorse.getFeedback(one)).Timestamp, TIME); // an insertion leaves what is there
    assert.equal(await gorse.upsertFeedbacks([feedback("buy", "u", "i", "2023-01-01T00:00:00Z")]), 1);
    assert.equal((await gorse.getFeedback(one)).Timestamp, "2023-01-01T00:00:00Z");
    assert.deepEqual((await gorse.getUserFeedback("u")).map(key_of).sort(), ["buy u i", "buy u j", "view u i"]);
    assert.deepEqual((await gorse.getUserFeedbackByType("u", "view")).map(key_of), ["view u i"]);
    assert.deepEqual((await gorse.getItemFeedback("i")).map(key_of).sort(), ["buy u i", "buy v i", "view u i"]);
    assert.deepEqual((await gorse.getItemFeedbackByType("i", "buy")).map(key_of).sort(), ["buy u i", "buy v i"]);
    assert.deepEqual((await paged("buy")).map(key_of).sort(), ["buy u i", "buy u j", "buy v i"]);
    assert.deepEqual((await paged("view")).map(key_of), ["view u i"]);
    assert.equal((await paged(undefined, 1000)).length, before + 4);
    assert.equal((await gorse.deleteFeedback(one)).RowAffected, 1);
    await fails(gorse.getFeedback(one), 404);
    assert.equal((await gorse.deleteFeedback(one)).RowAffected, 0); // as gorse answers
    assert.equal((await paged(undefined, 1000)).length, before + 3);
    assert.equal((await gorse.getFeedbacks()).Feedback.length, Math.min(100, before + 3));
  },

  async recommend() {
    const history = ["jazz-01", "jazz-02", "jazz-03"];
    await gorse.insertFeedbacks(history.map((item) => feedback("like", "zoe", item)));
    const list = await gorse.getRecommend({ userId: "zoe", cursorOptions: { n: 12 } });
    assert.equal(list.length, 12);
    assert.ok(list.every((id) => typeof id === "string" && !history.includes(id)));
    assert.equal((await gorse.getRecommend({ userId: "zoe" })).length, 10);
    assert.deepEqual(await gorse.getRecommend({ userId: "zoe", cursorOptions: { n: 4, offset: 5 } }), list.slice(5, 9));
    for (const item of list.slice(3, 6)) {
      await gorse.upsertItem({ ItemId: item, IsHidden: false, Timestamp: TIME, Categories: ["shelf"] });
    }
    assert.deepEqual(await gorse.getRecommend({ userId: "zoe", category: "shelf" }), list.slice(3, 6));
    const shown = await gorse.getRecommend({
      userId: "zoe", writeBackType: "read", writeBackDelay: "10m", cursorOptions: { n: 3 },
    });
    assert.deepEqual(shown, list.slice(0, 3));
    const back = await gorse.getUserFeedbackByType("zoe", "read");
    assert.deepEqual(back.map((row) => row.ItemId).sort(), [...shown].sort());
    const late = new Date(back[0].Timestamp).getTime() - Date.now();
    assert.ok(late > 8 * 60e3 && late <= 10 * 60e3, `${late} ms`);
    assert.deepEqual(await gorse.getRecommend({ userId: "zoe", cursorOptions: { n: 3 } }), list.slice(3, 6));
  },

  async session() {
    const scores = await gorse.getSessionRecommend([feedback("like", "guest", "jazz-01"), feedback("like", "guest", "jazz-04")],
      { cursorOptions: { n: 6 } });
    assert.equal(scores.length, 6);
    assert.ok(scores.every((row, n) => typeof row.Id === "string" && (n === 0 || row.Score <= scores[n - 1].Score)));
    assert.ok(!scores.some((row) => ["jazz-01", "jazz-04"].includes(row.Id)));
    assert.equal((await gorse.getSessionRecommend([feedback("like", "guest", "jazz-01")])).length, 10);
    const shelf = await gorse.getSessionRecommend([feedback("like", "guest", "jazz-01")], { category: "shelf" });
    assert.equal(shelf.length, 3);
    await fails(gorse.getUser("guest"), 404); // a session leaves nothing behind
  },

  async neighbours() {
    const near = await gorse.getItemNeighbors({ itemId: "jazz-01", cursorOptions: { n: 5 } });
    assert.equal(near.length, 5);
    assert.ok(near.every((row) => row.Id !== "jazz-01" && typeof row.Score === "number"));
    assert.deepEqual(await gorse.getItemNeighbors({ itemId: "jazz-01", cursorOptions: { n: 2, offset: 2 } }), near.slice(2, 4));
    assert.ok((await gorse.getItemNeighbors({ itemId: "jazz-01", category: "shelf" })).length <= 3);
    assert.equal((await gorse.getUserNeighbors({ userId: "u001", cursorOptions: { n: 4 } })).length, 4);
    await fails(gorse.getItemNeighbors({ itemId: "no-such-item" }), 404);
    await fails(gorse.getUserNeighbors({ userId: "no-such-user" }), 404);
  },

  async popular_and_latest() {
    const popular = await gorse.getPopular({ cursorOptions: { n: 3 } });
    assert.equal(popular.length, 3);
    assert.ok(popular.every((row) => typeof row.Id === "string" && typeof row.Score === "number"));
    assert.deepEqual(await gorse.getPopular({ cursorOptions: { n: 1, offset: 1 } }), popular.slice(1, 2));
    await gorse.upsertItem({ ItemId: "new", IsHidden: false, Timestamp: "2030-01-01T00:00:00Z", Categories: ["shelf"] });
    assert.equal((await gorse.getLatest({ cursorOptions: { n: 1 } }))[0].Id, "new");
    assert.equal((await gorse.getLatest({ category: "shelf", cursorOptions: { n: 1 } }))[0].Id, "new");
    assert.ok((await gorse.getPopular({ category: "shelf" })).length <= 4);
    assert.deepEqual(await gorse.getPopular({ category: "no-such-category" }), []);
  },

  async errors() {
    await fails(gorse.insertUser({}), 400);
    await fails(gorse.insertFeedbacks([{ FeedbackType: "like", UserId: "u" }]), 400);
    await fails(gorse.getRecommend({ userId: "zoe", cursorOptions: { n: -1 } }), 400);
    await fails(new Gorse({ endpoint: address, secret: "another key" }).getUsers(), 401);
    await fails(new Gorse({ endpoint: address, secret: "" }).insertUser({ UserId: "x" }), 401);
  },

  async every_method_was_called() {
    const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(client)).filter((name) => name !== "constructor");
    assert.deepEqual([...used].sort(), methods.sort());
    console.log(`${methods.length} methods`);
  },
};

(async () => {
  let failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test();
      console.log(`ok ${name}`);
    } catch (error) {
      failed++;
      console.log(`FAILED ${name}: ${error.stack}`);
    }
  }
  process.exit(failed ? 1 : 0);
})();

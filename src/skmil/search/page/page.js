// Everything that comes from the collection is put in as text (textContent, alt, title), never as HTML.
"use strict";
const at = (id) => document.getElementById(id);
const grid = at("grid");
const COUNT = 48, WAIT = 3000, POLL = 700;
const tab = sessionStorage.tab || (sessionStorage.tab = crypto.randomUUID());
let shown = { things: [], marks: {}, version: "" }, asked = 0, waiting = 0, polling = 0, shaded = "", current = null, atTop = false;
let marking = Promise.resolve();

async function ask(path, options) {
  const answer = await fetch(path, options);
  const said = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
  if (!answer.ok) throw new Error(said.error);
  return said;
}
const post = (path, body) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

async function trying(work) {
  try {
    at("message").textContent = "";
    return await work();
  } catch (error) {
    at("message").textContent = error instanceof TypeError ? "The server does not answer. Is it still running?" : error.message;
  }
}

const query = (more) => "?" + new URLSearchParams({ search: at("search").value, learner: at("learner").value, tab, ...more });

// Who asks for a ranking looks at its top, also while a learner still changes it, until they move on.
function rankNow() {
  atTop = true;
  if (!grid.contains(document.activeElement)) scrollTo(0, 0);
  return trying(async () => { await marking; await rank(); });
}

// Ranking: a slow learner answers in parts, so we ask again until it has seen everything.
async function rank(count) {
  clearTimeout(waiting);
  clearTimeout(polling);
  const mine = ++asked;
  grid.setAttribute("aria-busy", "true");
  const wanted = count || COUNT;
  const things = [];
  let said;
  do {
    const part = Math.min(COUNT, wanted - things.length);
    said = await ask("/api/ranking" + query({ show: at("show").value, hide: +at("hide").checked, start: things.length, count: part }));
    if (mine !== asked) return;
    things.push(...said.things);
  } while (things.length < Math.min(wanted, said.total));
  shown = { ...said, things };
  draw();
  grid.setAttribute("aria-busy", "false");
  if (!said.done) polling = setTimeout(() => trying(() => rank(things.length)), POLL);
  // While a learner is at work its order moves, and shading every step would only slow it down.
  const stage = [said.version, said.learned, said.done, things.length].join();
  if (stage !== shaded) await support(said.version, stage);
}

// What the parts say comes after the ranking, a few things at a time, the first ones first.
async function support(version, stage) {
  shaded = stage;
  const ids = shown.things.map((t) => t.id);
  for (let i = 0; i < ids.length; i += 12) {
    const said = await ask("/api/support?" + new URLSearchParams({ version, ids: ids.slice(i, i + 12).join(",") }));
    if (stage !== shaded) return;
    for (const [id, what] of Object.entries(said)) fill(id, what, version);
  }
}

function fill(id, what, version) {
  const card = at("t" + id);
  if (!card) return;
  const pieces = card.querySelector(".pieces");
  pieces.hidden = !what.pieces.length;
  pieces.replaceChildren(...what.pieces.map(([text, level]) => {
    if (!level || !at("shades").checked) return document.createTextNode(text);
    const mark = document.createElement("mark");
    mark.className = `${level > 0 ? "for" : "against"} s${Math.abs(level)}`;
    mark.textContent = text;
    return mark;
  }));
  const shade = card.querySelector(".shade");
  shade.hidden = !(what.shaded && at("shades").checked);
  const source = `/thing/${id}/shade?version=${version}&by=${what.by}`;
  if (!shade.hidden && shade.getAttribute("src") !== source) shade.src = source;
}

function draw() {
  const focused = grid.contains(document.activeElement);
  const keep = focused && current;
  const old = new Map([...grid.children].map((li) => [li.firstElementChild.id, li]));
  grid.replaceChildren(...shown.things.map((t) => card(t, old.get("t" + t.id))));
  at("further").hidden = shown.things.length >= shown.total;
  examples();
  count();
  const again = keep && !atTop && at(keep) ? keep : (shown.things[0] ? "t" + shown.things[0].id : null);
  choose(again, focused);
}

function card(t, li) {
  if (!li) {
    li = at("card").content.firstElementChild.cloneNode(true);
    const article = li.firstElementChild;
    article.id = "t" + t.id;
    article.tabIndex = -1;
    article.querySelector(".name").textContent = t.name;
    const picture = article.querySelector(".picture");
    picture.hidden = !t.picture;
    if (t.picture) {
      picture.src = `/thing/${t.id}/picture`;
      picture.alt = t.name;
      picture.addEventListener("error", () => { picture.alt = t.name + " (cannot be shown)"; });
    }
    article.querySelector(".view").addEventListener("click", () => mark(t.id, label(t.id) === "wanted" ? "u" : "y"));
    article.querySelector(".y").addEventListener("click", () => mark(t.id, label(t.id) === "wanted" ? "u" : "y"));
    article.querySelector(".n").addEventListener("click", () => mark(t.id, label(t.id) === "not wanted" ? "u" : "n"));
    article.addEventListener("focusin", () => choose(article.id, false));
  }
  show(t, li.firstElementChild);
  return li;
}

const thing = (id) => shown.things.find((t) => t.id === id);
const label = (id) => (thing(id) || {}).mark;

function show(t, article) {
  article.classList.toggle("wanted", t.mark === "wanted");
  article.classList.toggle("unwanted", t.mark === "not wanted");
  article.querySelector(".y").setAttribute("aria-pressed", t.mark === "wanted");
  article.querySelector(".n").setAttribute("aria-pressed", t.mark === "not wanted");
  const score = t.score !== null ? `score ${t.score.toFixed(3)}` : t.similarity !== null ? `similarity ${t.similarity.toFixed(3)}` : "";
  article.querySelector(".score").textContent = score;
  article.setAttribute("aria-label", [t.name, t.mark || "not marked", score].filter(Boolean).join(", "));
  const why = article.querySelector(".why");
  why.hidden = !shown.learner;
  why.href = `/thing/${t.id}/why` + query({});
}

function examples() {
  at("examples").replaceChildren(...shown.examples.map((id) => {
    const li = document.createElement("li"), img = document.createElement("img"), button = document.createElement("button");
    img.src = `/example/${id}`;
    img.alt = "your own example, wanted";
    button.textContent = "Remove";
    button.setAttribute("aria-label", "Remove your own example");
    button.addEventListener("click", () => mark(id, "u").then(() => trying(() => rank())));
    li.append(img, button);
    return li;
  }));
}

function count() {
  const c = shown.marks, by = shown.learner;
  let told = `${shown.size} thing${shown.size === 1 ? "" : "s"}, ${c.wanted} wanted, ${c.not_wanted} not wanted. `;
  if (shown.error) told += shown.error;
  else if (by && !shown.learned) told += `${by} is still learning; ranked by similarity until then.`;
  else if (by && !shown.done) told += `${by} is at work; what it has not scored yet is ranked by similarity.`;
  else if (by) told += `Ranked by ${by}.`;
  else if (c.wanted && c.not_wanted) told += "Enter ranks by what they teach.";
  else if (c.wanted || c.not_wanted) told += `Ranked by similarity; mark some as ${c.wanted ? "not " : ""}wanted to learn.`;
  else told += "Mark some things as wanted.";
  if (at("count").textContent !== told) at("count").textContent = told;
  // Beside the words, not in them: a screen reader would read every step of it.
  at("progress").hidden = !(by && shown.learned && !shown.done);
  at("progress").max = shown.size;
  at("progress").value = shown.scored;
}

// One card is reached by Tab; its buttons are the next stops.
function choose(id, focus) {
  for (const article of grid.querySelectorAll("article")) {
    const mine = article.id === id;
    article.tabIndex = mine ? 0 : -1;
    for (const inner of article.querySelectorAll("button, a")) inner.tabIndex = mine ? 0 : -1;
  }
  current = id;
  if (focus && id && at(id)) at(id).focus();
}

function move(step) {
  atTop = false;
  const cards = [...grid.querySelectorAll("article")];
  const now = cards.findIndex((a) => a.id === current);
  const next = cards[Math.max(0, Math.min(cards.length - 1, now + step))];
  if (next) choose(next.id, true);
}

const columns = () => getComputedStyle(grid).gridTemplateColumns.split(" ").length;

// One after the other, so that the last word about a thing is the last; a ranking waits for them.
async function mark(id, what) {
  atTop = false;
  const said = { search: at("search").value, thing: id, mark: what, tab };
  marking = marking.then(() => trying(async () => take(await post("/api/mark", said))));
  await marking;
  later();
}

// The answer holds all marks, those of other tabs, too.
function take(said) {
  for (const t of shown.things) {
    t.mark = said.marks[t.id] || null;
    if (at("t" + t.id)) show(t, at("t" + t.id));
  }
  shown.marks = said.counts;
  count();
}

function later() {
  clearTimeout(waiting);
  if (at("waits").checked) waiting = setTimeout(() => trying(() => rank()), WAIT);
}

async function undo() {
  await marking;
  await trying(async () => {
    const said = await post("/api/undo", { search: at("search").value, tab });
    take(said);
    if (!said.undone) at("message").textContent = "There is nothing to undo in this tab.";
    else await rank(shown.things.length);
  });
}

async function upload(file) {
  await trying(async () => {
    await ask("/api/example" + query({}), { method: "POST", headers: { "Content-Type": "application/octet-stream" }, body: file });
    await rank();
  });
}

document.addEventListener("keydown", (event) => {
  const inside = event.target.closest("input, select, textarea, summary, button, a");
  if (event.ctrlKey || event.metaKey || event.altKey || (inside && !inside.closest("article"))) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;  // Caps Lock or not
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns(), ArrowDown: columns(), Home: -1e9, End: 1e9 };
  if (key in steps) move(grid.contains(document.activeElement) ? steps[key] : 0);
  else if (event.repeat) return;  // a key that is held down marks once
  else if ("ynu".includes(key) && current && grid.contains(document.activeElement)) mark(current.slice(1), key);
  else if (key === "z") undo();
  else if (key === "Enter" && !inside) rankNow();
  else return;
  event.preventDefault();
});

for (const id of ["search", "learner", "show", "hide", "shades", "waits"]) at(id).addEventListener("change", () => {
  sessionStorage[id] = at(id).type === "checkbox" ? +at(id).checked : at(id).value;
});
for (const id of ["search", "learner", "show", "hide"]) at(id).addEventListener("change", () => {
  saving();
  trying(() => rank());
});
at("shades").addEventListener("change", () => trying(() => support(shown.version, {})));
at("waits").addEventListener("change", () => clearTimeout(waiting));
at("controls").addEventListener("submit", (event) => event.preventDefault());
at("rank").addEventListener("click", rankNow);
at("undo").addEventListener("click", undo);
at("further").addEventListener("click", () => trying(async () => {
  const before = shown.things.length;
  await rank(before + COUNT);
  if (shown.things[before]) choose("t" + shown.things[before].id, true);
}));
at("file").addEventListener("change", async () => {
  if (at("file").files[0]) await upload(at("file").files[0]);
  at("file").value = "";  // so that the same file can be chosen again
});
at("create").addEventListener("submit", (event) => {
  event.preventDefault();
  trying(async () => {
    const said = await post("/api/search", { name: at("name").value });
    options("search", said.searches, said.name);
    sessionStorage.search = said.name;
    at("name").value = "";
    saving();
    await rank();
  });
});
at("refresh").addEventListener("click", () => trying(async () => {
  const said = await post("/api/refresh", {});
  await rank();
  at("count").textContent = `${said.changes}. ` + at("count").textContent;
}));
at("save-model").addEventListener("click", () => trying(async () => {
  const answer = await fetch("/api/model.skops" + query({}));
  if (!answer.ok) throw new Error((await answer.json()).error);
  location.assign("/api/model.skops" + query({}));
}));

// The bar stays at the top, as high as its words are long, and what has the focus shall not lie under it.
new ResizeObserver(() => { document.documentElement.style.scrollPaddingTop = `${at("bar").offsetHeight + 8}px`; }).observe(at("bar"));

document.addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  if (event.dataTransfer.files[0]) upload(event.dataTransfer.files[0]);
});
// Marks and searches of another tab are here when this one is looked at again.
document.addEventListener("visibilitychange", () => {
  if (document.hidden || !shown.version) return;
  trying(async () => {
    options("search", (await ask("/api/state")).searches, at("search").value);
    await rank(shown.things.length || COUNT);
  });
});

function options(id, names, chosen) {
  at(id).replaceChildren(...names.map((name) => {
    const option = document.createElement("option");
    option.value = option.textContent = name;
    option.selected = name === chosen;
    return option;
  }));
}

function saving() {
  at("save-marks").href = "/api/marks.csv" + query({});
  at("save-ranking").href = "/api/ranking.csv" + query({});
}

trying(async () => {
  const state = await ask("/api/state");
  document.title = `${state.collection}: skmil search`;
  at("collection").textContent = state.collection;
  at("own").hidden = state.kind !== "images";
  options("search", state.searches, sessionStorage.search || state.searches[0]);
  options("learner", state.learners, sessionStorage.learner || state.learner);
  if (sessionStorage.show) at("show").value = sessionStorage.show;
  for (const id of ["hide", "shades", "waits"]) if (sessionStorage[id]) at(id).checked = sessionStorage[id] === "1";
  saving();
  await rank();
  if (state.failed.length) {
    at("message").textContent = `${state.failed.length} files could not be read, such as ${state.failed[0].name}: ${state.failed[0].reason}`;
  }
});

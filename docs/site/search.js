"use strict";
// The search of the pages. A page that is opened as a file may not fetch data, so the index is a script too. It is much
// larger than a page, so it is loaded only when the field gets the focus.
(() => {
const root = new URL(".", document.currentScript.src || document.baseURI);  // the playground has this script within it
const search = document.querySelector(".search"), field = search.querySelector("input");
const found = search.querySelector(".found"), list = found.querySelector("ol");
let sections;  // [page, title of the page, anchor, heading, text]

// ---- Finding ----
// The group makes split() keep what matches. An underscore ends a word: "norm" finds layer_norm.
const beginning = words => new RegExp(
  `(?<![\\p{L}\\p{N}])(${words.map(word => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "giu");

// How well a section fits a word, 0 if it does not have it: a heading counts most, and more if the word is most of it.
function fit(word, [, title, , heading, text]) {
  const has = where => where.match(word)?.length ?? 0;
  const inText = has(text) / (has(text) + 1 + text.length / 300);
  return (has(heading) && 4 + 10 / heading.length) + (has(title) && 1) + inText;
}

function best(words) {
  const patterns = words.map(word => beginning([word]));
  const sum = fits => fits.every(Boolean) ? fits.reduce((a, b) => a + b) : 0;
  return sections.map(section => [sum(patterns.map(word => fit(word, section))), section])
    .filter(([fits]) => fits).sort(([a], [b]) => b - a).slice(0, 12).map(([, section]) => section);
}

// ---- Showing ----
function make(tag, ...children) {
  const made = document.createElement(tag);
  made.append(...children);
  return made;
}
const marked = (text, any) => text.split(any).map((piece, i) => i % 2 ? make("mark", piece) : piece);

// What stands around the place with most of the words, or the beginning of a text that has none of them.
function excerpt(text, any) {
  const variety = at => new Set(text.slice(at, at + 100).toLowerCase().match(any)).size;
  const at = [...text.matchAll(any)].map(match => match.index).reduce((a, b) => variety(b) > variety(a) ? b : a, 0);
  const begin = text.lastIndexOf(" ", at - 50) + 1, end = text.indexOf(" ", at + 110);
  return (begin ? "… " : "") + (end < 0 ? text.slice(begin) : text.slice(begin, end) + "\u00a0…");
}

function show() {
  const words = field.value.split(/\s+/).filter(Boolean);
  found.hidden = !sections || !words.length;
  if (found.hidden) return;
  const any = beginning(words), results = best(words);
  found.querySelector("[role=status]").textContent = results.length ? "" : "Nothing found.";
  list.replaceChildren(...results.map(([page, title, anchor, heading, text]) => {
    const link = make("a", make("b", ...marked(heading, any)), heading === title ? "" : ` ${title}`,
                      make("span", ...marked(excerpt(text, any), any)));
    link.href = new URL(`${page}#${anchor}`, root);
    return make("li", link);
  }));
}

// ---- Mouse and keys ----
const close = () => { found.hidden = true; };
field.addEventListener("focus", () => {
  const script = make("script");
  script.src = new URL("search_index.js", root);
  script.onload = () => {
    sections = search_index.flatMap(([page, title, parts]) => parts.map(part => [page, title, ...part]));
    show();
  };
  document.head.append(script);
}, {once: true});
field.addEventListener("focus", show);
field.addEventListener("input", show);
list.addEventListener("click", close);  // a result may be on this page
document.addEventListener("pointerdown", event => search.contains(event.target) || close());
search.addEventListener("focusout", event => event.relatedTarget && !search.contains(event.relatedTarget) && close());
search.addEventListener("keydown", event => {
  const stops = found.hidden ? [field] : [field, ...found.querySelectorAll("a")], at = stops.indexOf(event.target);
  const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
  if (step) stops[(at + step + stops.length) % stops.length].focus();
  else if (event.key === "Enter" && at === 0) list.querySelector("a")?.click();
  else if (event.key === "Escape") { field.focus(); close(); }
  else return;
  event.preventDefault();
});
document.addEventListener("keydown", event => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea")) return;
  event.preventDefault();
  field.focus();
});
search.hidden = false;
})();

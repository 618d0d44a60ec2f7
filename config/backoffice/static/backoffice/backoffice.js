"use strict";

// Going through a queue with the keyboard: n is the next record, p the one before, u is up to the list.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  const way = document.querySelector(`a[data-key="${CSS.escape(event.key)}"]`);
  if (way) {
    event.preventDefault();
    way.click();
  }
  if (event.key === "?") showKeys();
  const search = document.getElementById("console-search");
  if (event.key === "/" && search) {
    event.preventDefault();
    search.focus();
  }
});

// What every key on this page does.
function showKeys() {
  const dialog = document.createElement("dialog");
  dialog.className = "help-keys";
  dialog.setAttribute("aria-labelledby", "keys-heading");
  const list = document.createElement("dl");
  list.className = "keys";
  const ways = [...document.querySelectorAll("a[data-key]")].map((way) => [way.dataset.key, way.textContent.trim()]);
  for (const [key, meaning] of [...ways, ["/", "Search"], ["?", "These keys"], ["Esc", "Close"]]) {
    list.append(Object.assign(document.createElement("dt"), { textContent: key }));
    list.append(Object.assign(document.createElement("dd"), { textContent: meaning }));
  }
  const close = Object.assign(document.createElement("button"), { textContent: "Close", className: "button small" });
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  const heading = Object.assign(document.createElement("h2"), { textContent: "Keys of this page", id: "keys-heading" });
  dialog.append(heading, list, close);
  document.body.append(dialog);
  dialog.showModal();
}

// The bar of a case has all its buttons. On a phone, the menu has all of them except the first.
const more = document.querySelector(".case-bar .more");
if (more) {
  const panel = more.querySelector(".buttons");
  const others = [...more.parentElement.children].slice(1).filter((item) => item !== more);
  const isEmpty = more.hidden;
  const phone = matchMedia("(max-width: 40rem)");
  const place = () => {
    if (phone.matches) panel.prepend(...others);
    else more.before(...others);
    more.hidden = isEmpty && !(phone.matches && others.length);
  };
  phone.addEventListener("change", place);
  place();
}

// Menus of a page: one is open at a time, and Escape closes it.
const menus = [...document.querySelectorAll("details.menu")];
for (const menu of menus) {
  menu.addEventListener("toggle", () => {
    if (!menu.open) return;
    for (const other of menus) if (other !== menu) other.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}

// A list: each cell knows its column's name, which a phone shows beside it; a list that is cut says that it scrolls.
const list = document.getElementById("result_list");
if (list) {
  const names = [...list.tHead.rows[0].cells].map((cell) => cell.querySelector(".text").textContent.trim());
  for (const row of list.tBodies[0].rows) {
    [...row.cells].forEach((cell, at) => {
      cell.dataset.label = names[at];
      if (["", "—", "-"].includes(cell.textContent.trim()) && !cell.firstElementChild) cell.classList.add("nothing");
    });
  }
  list.classList.add("labelled");
  const frame = list.closest(".results");
  const look = () => {
    const wide = frame.scrollWidth > frame.clientWidth;
    frame.classList.toggle("wide", wide);
    frame.tabIndex = wide ? 0 : -1;
  };
  const resized = new ResizeObserver(look);
  resized.observe(frame);
  resized.observe(list);  // a wider column need not change the frame
}

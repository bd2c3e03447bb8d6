"use strict";
/* What the page does beyond being read: tables that sort, print of all. */

(() => {
  /** The first number of a cell, or its text; a dash stands for nothing. */
  function valueOf(cell) {
    const text = cell.textContent.trim();
    if (text === "" || text[0] === "–") return null;
    const found = text.match(/^[^\d-]{0,3}(-?[\d,]*\.?\d+(?:e-?\d+)?)/);
    if (!found) return text;
    const number = Number(found[1].replaceAll(",", ""));
    return text[0] === "<" ? number / 2 : text[0] === ">" ? number * 2 : number;
  }

  /** Order of two values, undefined ones last either way. */
  function compare(a, b, sign) {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    return sign * String(a).localeCompare(String(b), "en", { numeric: true });
  }

  function sortBy(table, place, heads) {
    const head = heads[place];
    const order = head.ariaSort === "descending" ? "ascending" : "descending";
    const isWords = table.classList.contains(`w${place + 1}`);
    const next = head.ariaSort === null && isWords ? "ascending" : order;
    heads.forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", next);
    const body = table.tBodies[0];
    const last = Number(table.dataset.last || 0);
    const rows = [...body.rows];
    const moved = rows.slice(0, rows.length - last);
    const own = (row) => (isWords ? row.cells[place].textContent : valueOf(row.cells[place]));
    const keyed = moved.map((row) => [own(row), row]);
    keyed.sort((one, other) => compare(one[0], other[0], next === "ascending" ? 1 : -1));
    body.append(...keyed.map((pair) => pair[1]), ...rows.slice(rows.length - last));
  }

  for (const table of document.querySelectorAll("table.s")) {
    if (table.tBodies[0].rows.length - Number(table.dataset.last || 0) < 3) continue;
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, place) => {
      if (head.classList.contains("axis")) return; // of pictures
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sortBy(table, place, heads));
      head.append(button);
    });
  }

  /* The legend is folded on phones alone; other screens have no summary to open it with. */
  const phone = window.matchMedia("(max-width: 40rem)");
  function foldLegend() {
    for (const legend of document.querySelectorAll("details.legend")) legend.open = !phone.matches;
  }
  foldLegend();
  phone.addEventListener("change", foldLegend);

  /* Paper has no summaries to open. */
  const opened = [];
  window.addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details:not([open])")) {
      one.open = true;
      opened.push(one);
    }
  });
  window.addEventListener("afterprint", () => {
    while (opened.length) opened.pop().open = false;
  });
})();

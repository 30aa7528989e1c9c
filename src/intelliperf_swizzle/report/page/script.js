// Sorts and filters the table of attempts; the page is whole without it.
(() => {
  const table = document.querySelector("table.attempts");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const controls = document.querySelector(".controls");
  const [verdict, text] = controls.querySelectorAll("select, input");
  const shown = controls.querySelector("output");
  controls.hidden = false;

  const filter = () => {
    const wanted = text.value.toLowerCase();
    let count = 0;
    for (const row of rows) {
      const fits = (!verdict.value || row.dataset.verdict === verdict.value) &&
        row.textContent.toLowerCase().includes(wanted);
      row.hidden = !fits;
      count += fits;
    }
    shown.textContent = `${count} of ${rows.length}`;
  };
  verdict.addEventListener("change", filter);
  text.addEventListener("input", filter);
  filter();

  const value = (row, column) => {
    const datum = row.cells[column].querySelector("data");
    return datum ? Number(datum.value) : row.cells[column].textContent.trim();
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === "number") return 1;
    if (typeof b === "number") return -1;
    return a.localeCompare(b);
  };
  table.querySelectorAll("thead th").forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("thead th").forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      rows.sort((a, b) => compare(value(a, column), value(b, column)) * (down ? -1 : 1));
      body.append(...rows);
    });
  });
})();

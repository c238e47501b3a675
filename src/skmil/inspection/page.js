"use strict";
const slider = document.getElementById("threshold");
const level = document.getElementById("level");
const parts = document.querySelectorAll("[data-strength]");
slider.addEventListener("input", () => {
  level.textContent = slider.value + " %";
  for (const part of parts) part.classList.toggle("weak", Number(part.dataset.strength) < Number(slider.value));
});
for (const article of document.querySelectorAll("article")) {
  const mark = (event, on) => {
    const at = event.target.closest("[data-part]");
    if (!at) return;
    for (const part of at.dataset.part.split(" "))
      for (const same of article.querySelectorAll(`[data-part~="${CSS.escape(part)}"]`)) same.classList.toggle("chosen", on);
  };
  article.addEventListener("pointerover", (event) => mark(event, true));
  article.addEventListener("pointerout", (event) => mark(event, false));
}

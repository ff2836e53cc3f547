// What ipywidgets leaves out for a reader who hears the page. Runs once in each explorer, as the `onload` of a
// <style> in it: the one script that an HTML widget starts. Where a page forbids it, the controls work unnamed.
const explorer = this.closest(".ffn-explorer");

function say(element, attributes) {
    for (const [name, value] of Object.entries(attributes))
        if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

function complete() {
    for (const handle of explorer.querySelectorAll(".noUi-handle, .ui-slider-handle")) {      // ipywidgets 8, 7
        const row = handle.closest(".ffn-number"), slider = handle.closest(".slider").noUiSlider;
        const box = row.querySelector(".widget-text input");
        let value = slider ? Number(slider.get()) : Number(box.value.replace("−", "-").trim() || NaN);
        if (slider && row.classList.contains("ffn-log")) value = 2 ** value;                  // it would read out the exponent
        say(handle, { "aria-label": row.querySelector("label").textContent + " slider", role: "slider" });
        if (Number.isNaN(value)) continue;            // the box holds what was refused: the slider has not moved
        say(handle, { "aria-valuetext": String(Number(value.toPrecision(6))) });
        if (!slider) say(handle, { "aria-valuenow": String(value) });
    }
    for (const group of explorer.querySelectorAll(".widget-toggle-buttons")) {
        say(group, { role: "group", "aria-label": group.querySelector("label").textContent });
        for (const button of group.querySelectorAll("button"))
            say(button, { "aria-pressed": String(button.classList.contains("mod-active")) });
    }
    for (const words of explorer.querySelectorAll(".ffn-words"))        // a status must be there before its text is
        say(words, { role: "status" });
}

complete();
new MutationObserver(complete).observe(
    explorer, { subtree: true, childList: true, attributes: true, attributeFilter: ["class", "aria-valuetext"] });

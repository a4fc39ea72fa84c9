/* tip.js - a line and a small box that say what is under the pointer. Only for those who point:
 * the same numbers are in the table beside each chart. */

export class Tip {
    /* find(x) gives { x, area, lines } for a place in the box, or null. */
    constructor(box, find) {
        this.box = box;
        this.find = find;
        this.rule = document.createElement("div");
        this.text = document.createElement("div");
        this.rule.className = "tip-rule";
        this.text.className = "tip";
        for (const part of [this.rule, this.text]) {
            part.hidden = true;
            part.setAttribute("aria-hidden", "true");
            box.append(part);
        }
        box.addEventListener(
            "pointermove", (event) => this.show(event.clientX - box.getBoundingClientRect().left));
        box.addEventListener("pointerleave", () => this.hide());
    }

    hide() {
        this.rule.hidden = this.text.hidden = true;
    }

    show(x) {
        const found = this.find(x);
        if (found === null) {
            this.hide();
            return;
        }
        this.text.replaceChildren(...found.lines.map((line) => {
            const made = document.createElement("div");
            made.textContent = line;
            return made;
        }));
        this.rule.hidden = this.text.hidden = false;
        const {left, right, top, bottom} = found.area;
        const at = Math.min(Math.max(found.x, left), right);
        /* Through the object model, which the policy allows; a style attribute it would not. */
        Object.assign(
            this.rule.style, {left: `${at}px`, top: `${top}px`, height: `${bottom - top}px`});
        const wide = this.text.offsetWidth;
        const place = at + 12 + wide > this.box.clientWidth ? at - 12 - wide : at + 12;
        Object.assign(this.text.style, {left: `${Math.max(place, 0)}px`, top: `${top}px`});
    }
}

// Dragging a row of a list to another place, by mouse, pen or finger. Nothing moves while it is
// dragged: a line shows where it would go. Escape leaves everything as it was.
import { useRef, useState } from "../ui.js";

const EDGE = 70;

/** The index that a pointer at this height stands for. */
function place(rows, y) {
  const at = rows.findIndex((row) => y < row.getBoundingClientRect().bottom);
  return at < 0 ? rows.length - 1 : at;
}

/** `{from, to, start(event, index)}`; `drop(from, to)` is called when it is let go elsewhere. */
export function useDragging(list, drop) {
  const [now, setNow] = useState({ from: -1, to: -1 });
  const dropped = useRef(drop);
  dropped.current = drop;
  const start = (event, from) => {
    if (event.button) return;
    const handle = event.currentTarget;
    const rows = [...list.current.children];
    let to = from;
    handle.setPointerCapture(event.pointerId);
    const follow = ({ clientY }) => {
      if (clientY < EDGE) window.scrollBy(0, -12);
      else if (clientY > window.innerHeight - EDGE) window.scrollBy(0, 12);
      to = place(rows, clientY);
      setNow({ from, to });
    };
    const end = (done) => {
      handle.removeEventListener("pointermove", follow);
      handle.removeEventListener("pointerup", release);
      handle.removeEventListener("pointercancel", leave);
      document.removeEventListener("keydown", escape, true);
      setNow({ from: -1, to: -1 });
      if (done && to !== from) dropped.current(from, to);
    };
    const release = () => end(true);
    const leave = () => end(false);
    const escape = (pressed) => {
      if (pressed.key !== "Escape") return;
      pressed.stopPropagation();
      leave();
    };
    handle.addEventListener("pointermove", follow);
    handle.addEventListener("pointerup", release);
    handle.addEventListener("pointercancel", leave);
    document.addEventListener("keydown", escape, true);
  };
  return { ...now, start };
}

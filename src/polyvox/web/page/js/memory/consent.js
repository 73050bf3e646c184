// @ts-check
// The question whether an online model may read what was told to a model on this computer.
import { api } from "../api.js";
import { announceChange } from "../current.js";
import { notify, notifyFailure } from "../dialog.js";
import { useLoaded } from "../load.js";
import { html, useState } from "../ui.js";
import { plural } from "../words.js";

/** `overview` as the memory's route tells it; `onDone` when it was answered. */
export function Question({ overview, onDone }) {
  const [busy, setBusy] = useState(false);
  if (!overview?.keptLocal) return null;
  const talks = plural(overview.keptLocal, "conversation");
  const answer = async (share) => {
    if (busy) return;
    setBusy(true);
    try {
      await api.patch("/api/settings", { "memory.share": share });
      if (share === "always") await api.post("/api/memory/share");
      announceChange("memory");
      notify(share === "always" ? "Allowed. Notes are being taken." : "They stay private.", {
        hint: "You can change this in Settings, under Memory."
      });
      await onDone?.();
    } catch (failure) {
      notifyFailure(failure);
    }
    setBusy(false);
  };
  const were = overview.keptLocal === 1 ? "was" : "were";
  if (overview.share === "never") {
    return html`
      <p class="consent soft">
        ${talks} ${were} held with a model on this computer and ${overview.keptLocal === 1 ? "stays" : "stay"} private.
        ${" "}<button type="button" class="inline" onClick=${() => answer("always")}>
          Let ${overview.model} read ${overview.keptLocal === 1 ? "it" : "them"}
        </button>
      </p>`;
  }
  return html`
    <section class="consent" aria-label="Private conversations">
      <p>
        ${talks} ${were} held with a model on this computer. <code>${overview.model}</code> runs online.
        ${" "}May it read ${overview.keptLocal === 1 ? "it" : "them"}, to take notes for memory?
      </p>
      <div class="row">
        <button type="button" class="solid" aria-disabled=${busy ? "true" : undefined}
          onClick=${() => answer("always")}>
          Allow
        </button>
        <button type="button" class="plain" aria-disabled=${busy ? "true" : undefined}
          onClick=${() => answer("never")}>
          Keep private
        </button>
      </div>
    </section>`;
}

/** The same outside of the memory room, as long as it is not answered; read anew with `inputs`. */
export function Consent({ inputs }) {
  const [overview, , again] = useLoaded(() => api.get("/api/memory/overview"), inputs);
  return overview?.share === "ask" && html`<${Question} overview=${overview} onDone=${again} />`;
}

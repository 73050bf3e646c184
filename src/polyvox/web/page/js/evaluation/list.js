// @ts-check
// One advisor's assertions: the list to choose from, running them, and how it went over time.
import { api, download } from "../api.js";
import { useCurrent } from "../current.js";
import { Dialog, confirm, notify, notifyFailure } from "../dialog.js";
import { errorOf, Field, useForm } from "../form.js";
import { Failed, useLoaded, Waiting } from "../load.js";
import { usePlace } from "../place.js";
import { pref } from "../prefs.js";
import { go } from "../router.js";
import { addCommand } from "../shortcuts.js";
import { html, useEffect, useId, useState } from "../ui.js";
import { plural } from "../words.js";
import { Lint } from "./assert.js";
import { PhaseField, Row } from "./assertion.js";
import { Agreement, PassRates } from "./rates.js";
import { RunList, StartRun } from "./runs.js";

const PAGE = 100;

/** The list, filtered by the server, a page at a time. */
function useAssertions(slug, filter) {
  const [more, setMore] = useState(PAGE);
  const query = new URLSearchParams({ limit: String(Math.min(more, 500)) });
  if (filter.q.trim()) query.set("q", filter.q.trim());
  if (filter.tag) query.set("tag", filter.tag);
  const path = `/api/advisors/${encodeURIComponent(slug)}/assertions?${query}`;
  const [page, failure, again] = useLoaded(() => api.get(path), [path]);
  return { page, failure, again, onMore: page?.next ? () => setMore(more + PAGE) : null };
}

/** Write some that were drawn from no answer. */
function ByHand({ advisor, onClose, onKept }) {
  const kept = pref(`draft.assertions.${advisor.id}`, "");
  const [question, setQuestion] = useState("");
  const [checks, setChecks] = useState([]);
  const [phase, setPhase] = useState(null); // null: the ongoing one
  const meant = { advisor_id: advisor.id, ...(phase ? { phase } : {}) };
  const lines = kept.value.split("\n").filter((line) => line.trim());
  const count = lines.length + checks.length;
  const { busy, failure, submit } = useForm(async () => {
    const about = { ...meant, ...(question.trim() ? { user_input: question.trim() } : {}) };
    if (lines.length) await api.post("/api/assertions", { ...about, text: kept.value });
    kept.value = "";
    for (const { kind, args, text } of checks) await api.post("/api/assertions", { ...about, text, kind, args });
    notify(`${plural(count, "assertion")} kept.`);
    onKept();
    onClose();
  });
  return html`
    <${Dialog} title=${`How ${advisor.name} should answer`} onClose=${onClose} wide>
      <form class="stack asserting" onSubmit=${submit}>
        <${Field} label="What should hold" hint="One per line.">
          ${(attributes) => html`
            <textarea class="box" rows="3" autofocus ...${attributes} value=${kept.value}
              onInput=${(event) => { kept.value = event.currentTarget.value; }}></textarea>`}
        <//>
        <${PhaseField} value=${phase} onChange=${setPhase} />
        <${Lint} about=${meant} text=${kept.value} onText=${(text) => { kept.value = text; }}
          onCheck=${(check) => setChecks([...checks, check])} />
        ${checks.length > 0 && html`
          <ul class="taken">
            ${checks.map((check) => html`
              <li key=${check.text}>
                ${check.text} <span class="stamp">in code</span> <button type="button" class="inline"
                  aria-label=${`Leave out: ${check.text}`}
                  onClick=${() => setChecks(checks.filter((each) => each !== check))}>
                  leave out
                </button>
              </li>`)}
          </ul>`}
        <${Field} label="Asked with this question"
          hint="Left empty, it holds wherever this advisor has answered so far.">
          ${(attributes) => html`
            <input type="text" ...${attributes} value=${question}
              onInput=${(event) => setQuestion(event.currentTarget.value)} />`}
        <//>
        ${failure && html`<${Failed} failure=${failure} />`}
        <div class="row end">
          <button type="button" class="plain" onClick=${onClose}>Cancel</button>
          <button type="submit" class="solid" disabled=${busy || !count}>
            ${count ? `Keep ${plural(count, "assertion")}` : "Keep"}
          </button>
        </div>
      </form>
    <//>`;
}

const exportAssertions = ({ id, slug }) =>
  download(`/api/advisors/${id}/assertions/export`, `${slug}-assertions.yaml`, true);

function Import({ advisor, onDone }) {
  const read = async ({ currentTarget: input }) => {
    const [file] = input.files;
    if (!file) return;
    try {
      const report = await api.post(`/api/advisors/${advisor.id}/assertions/import`, { content: await file.text() });
      notify(`${plural(report.taken.length, "assertion")} taken, ${report.present.length} were there already.`, {
        hint: report.refused.map((refusal) => (typeof refusal === "string"
          ? refusal
          : `${refusal.what ?? refusal.text ?? ""} ${refusal.why ?? refusal.reason ?? ""}`))
          .join(" ")
      });
      onDone();
    } catch (error) {
      notifyFailure(error);
    }
    input.value = "";
  };
  return html`
    <label class="file-tool">
      Import<input type="file" class="aside" accept=".yaml,.yml,.json" onChange=${read} />
    </label>`;
}

function Nothing({ filter, advisor }) {
  if (filter.q || filter.tag) return html`<p class="nobody">Nothing matches.</p>`;
  return html`
    <div class="nobody">
      <p>Nothing has been asserted of ${advisor.name} yet.</p>
      <p class="soft">In a conversation, press <b>Assert</b> under one of its answers; or write some here.</p>
    </div>`;
}

/** What the palette offers here. */
function useCommands(advisor, onWrite) {
  useEffect(() => {
    if (!advisor) return undefined;
    const group = "Assertions";
    const taken = [
      {
        id: "assertions.write", name: `Write down how ${advisor.name} should answer`, verb: "write", group,
        run: onWrite
      },
      {
        id: "assertions.improve", name: `Improve the prompt of ${advisor.name}`, verb: "improve", group,
        run: () => go(`/assertions/${advisor.slug}/improve`)
      },
    ].map(addCommand);
    return () => taken.forEach((take) => take());
  }, [advisor?.id, advisor?.slug]);
}

export function AdvisorAssertions({ slug }) {
  const [advisor, lost, look] = useLoaded(() => api.get(`/api/advisors/${encodeURIComponent(slug)}`), [slug]);
  const [filter, setFilter] = useState({ q: "", tag: "" });
  const { page, failure, again, onMore } = useAssertions(slug, filter);
  const [chosen, setChosen] = useState(null); // null: those in use
  const [writing, setWriting] = useState(false);
  useCurrent(again);
  usePlace(advisor?.name ?? "Assertions", "Assertions");
  const items = page?.items ?? [];
  useEffect(() => { setChosen(null); }, [slug]);
  useCommands(advisor, () => setWriting(true));
  const picked = chosen ?? new Set(items.filter((assertion) => assertion.active).map((assertion) => assertion.id));
  const pick = (id, on) => {
    const next = new Set(picked);
    if (on) next.add(id); else next.delete(id);
    setChosen(next);
  };
  if (!advisor) {
    return html`
      <div class="room">
        ${lost ? html`<${Failed} failure=${lost} again=${look} />` : html`<${Waiting}>Fetching …<//>`}
      </div>`;
  }
  const here = items.filter((assertion) => picked.has(assertion.id));
  return html`
    <div class="room assertions">
      <header>
        <p><a class="back" href="/assertions">Assertions</a></p>
        <h1>How ${advisor.name} should answer</h1>
        <div class="tools">
          <button type="button" onClick=${() => setWriting(true)}>Write some</button>
          <a href=${`/advisors/${advisor.slug}`}>Its prompt</a>
          ${items.length > 0 && html`
            <button type="button" onClick=${() => exportAssertions(advisor).catch(notifyFailure)}>Export</button>`}
          <${Import} advisor=${advisor} onDone=${again} />
        </div>
      </header>
      ${(items.length > 0 || filter.q || filter.tag) && html`
        <div class="finding">
          <label>
            <span class="aside">Search these assertions</span>
            <input type="search" placeholder="Search" value=${filter.q}
              onInput=${(event) => setFilter({ ...filter, q: event.currentTarget.value })} />
          </label>
          ${page?.tags.length > 0 && html`
            <label>
              <span class="aside">Tag</span>
              <select value=${filter.tag}
                onChange=${(event) => setFilter({ ...filter, tag: event.currentTarget.value })}>
                <option value="">every tag</option>
                ${page.tags.map((tag) => html`<option key=${tag} value=${tag}>${tag}</option>`)}
              </select>
            </label>`}
        </div>`}
      ${failure && html`<${Failed} failure=${failure} again=${again} />`}
      ${!page && !failure && html`<${Waiting}>Fetching the assertions …<//>`}
      ${page && !items.length && html`<${Nothing} filter=${filter} advisor=${advisor} />`}
      ${items.length > 0 && html`
        <div class="row choosing">
          <label class="pick-all">
            <input type="checkbox" checked=${here.length === items.length}
              onChange=${(event) => setChosen(
                new Set(event.currentTarget.checked ? items.map((assertion) => assertion.id) : [])
              )}
              /> All
          </label>
          <span class="soft" role="status">${here.length} of ${plural(items.length, "assertion")} selected</span>
          <${BulkTools} chosen=${picked} tags=${page.tags} onDone=${(gone) => { if (gone) setChosen(null); again(); }}
            />
        </div>
        <ul class="checklist" aria-label="Assertions">
          ${items.map((assertion, at) => html`
            <${Row} key=${assertion.id} assertion=${assertion} before=${items[at - 1]} on=${picked.has(assertion.id)}
              onPick=${(on) => pick(assertion.id, on)} onChanged=${again} />`)}
        </ul>
        ${onMore && html`<button type="button" class="plain" onClick=${onMore}>More</button>`}
        <${StartRun} advisor=${advisor} chosen=${here.map((assertion) => assertion.id)} />`}
      <${PassRates} advisor=${advisor} />
      <${RunList} advisor=${advisor} />
      <${Agreement} advisor=${advisor} />
      ${writing && html`<${ByHand} advisor=${advisor} onClose=${() => setWriting(false)} onKept=${again} />`}
    </div>`;
}

// What can be done to several assertions at once.
const bulkAction = (chosen, action, more = {}) =>
  api.post("/api/assertions/bulk", { ids: [...chosen], action, ...more });

function Tagging({ chosen, tags, onClose, onDone }) {
  const [tag, setTag] = useState("");
  const known = useId();
  const { failure, submit } = useForm(async (action, says) => {
    await bulkAction(chosen, action, { tag: tag.trim() });
    notify(`“${tag.trim()}” ${says} ${plural(chosen.size, "assertion")}.`);
    onDone();
  });
  return html`
    <${Dialog} title=${`Tag ${plural(chosen.size, "assertion")}`} onClose=${onClose}>
      <form class="stack" onSubmit=${(event) => submit(event, "tag", "is on")}>
        <${Field} label="Tag" wrong=${errorOf(failure, "tag")}>
          ${(attributes) => html`
            <input type="text" autofocus autocomplete="off" list=${known} ...${attributes} value=${tag}
              onInput=${(event) => setTag(event.currentTarget.value)} />`}
        <//>
        <datalist id=${known}>${tags.map((known) => html`<option key=${known} value=${known}></option>`)}</datalist>
        ${failure && !errorOf(failure, "tag") && html`<${Failed} failure=${failure} />`}
        <div class="row end">
          <button type="button" class="plain" disabled=${!tag.trim()}
            onClick=${(event) => submit(event, "untag", "is off")}>
            Take it off
          </button>
          <button type="submit" class="solid" disabled=${!tag.trim()}>Put it on</button>
        </div>
      </form>
    <//>`;
}

function BulkTools({ chosen, tags, onDone }) {
  const [tagging, setTagging] = useState(false);
  const act = async (action) => {
    try {
      await bulkAction(chosen, action);
      onDone(action === "remove");
    } catch (error) {
      notifyFailure(error);
    }
  };
  const remove = async () => {
    if (await confirm(`Remove ${plural(chosen.size, "assertion")}?`, {
      detail: "Verdicts on them stay in the runs they belong to.", yes: "Remove"
    })) {
      act("remove");
    }
  };
  const off = !chosen.size;
  return html`
    <div class="tools bulk" role="group" aria-label="With those selected">
      <button type="button" disabled=${off} onClick=${() => act("activate")}>Use</button>
      <button type="button" disabled=${off} onClick=${() => act("deactivate")}>Do not use</button>
      <button type="button" disabled=${off} onClick=${() => setTagging(true)}>Tag …</button>
      <button type="button" disabled=${off} onClick=${remove}>Remove</button>
    </div>
    ${tagging && html`
      <${Tagging} chosen=${chosen} tags=${tags} onClose=${() => setTagging(false)}
        onDone=${() => { setTagging(false); onDone(false); }} />`}`;
}

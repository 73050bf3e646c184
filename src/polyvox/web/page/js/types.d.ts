// The API's shapes by the names the page has for them. Which route replies what is read from the
// API itself: see tools/page.py.
import type { Api as Calls, Options, Replies } from "./openapi";

export type Api = Calls;
export type { Options };

type Reply<Route extends keyof Replies> = Replies[Route];

export type Advisor = Reply<"GET /api/advisors">[number];
export type PromptVersion = Reply<"GET /api/advisors/{advisor}/versions">[number];
export type Council = Reply<"GET /api/councils">[number];
export type Conversation = Reply<"GET /api/conversations">["items"][number];
export type WholeConversation = Reply<"GET /api/conversations/{conversation}">;
export type Message = WholeConversation["messages"][number];
export type Answer = Reply<"GET /api/answers/{answer}">;
export type Receipt = Reply<"GET /api/answers/{answer}/receipt">;
export type Trace = Reply<"GET /api/turns/{turn}/trace">;
export type Start = Reply<"GET /api/memory/start">;
export type Persona = Reply<"GET /api/personas">[number];
export type Models = Reply<"GET /api/models">;
export type Recipe = Reply<"GET /api/recipes">[number];
export type Assertion = Reply<"GET /api/assertions/{assertion}">;
export type Evaluation = Reply<"GET /api/evaluations/{evaluation}">;
export type Optimisation = Reply<"GET /api/optimizations/{optimization}">;
export type Verdict = Reply<"POST /api/verdicts/{verdict}/overrule">;
export type Session = Reply<"GET /api/sessions">[number];
export type Job = Reply<"GET /api/jobs">["items"][number];
export type SettingsPage = Reply<"GET /api/settings/page">;
export type Key = Reply<"GET /api/keys">[number];
export type Provider = Reply<"GET /api/providers">[number];
export type Hit = Reply<"GET /api/search">[number];
export type Usage = Reply<"GET /api/usage">;

/** An event of a conversation's stream. */
export interface StreamEvent {
  number: number;
  kind: string;
  data: any;
}

/** A failed request, and what to do about it. */
export interface Failure {
  status: number;
  code: string;
  message: string;
  hint: string;
  param: string;
}

// What the page uses of Preact's signals, for the checker.
export interface Signal<T> {
  value: T;
  peek(): T;
}
export function signal<T = any>(first: T): Signal<T>;
export function computed<T>(make: () => T): { readonly value: T; peek(): T };
export function effect(act: () => any): () => void;
export function batch<T>(act: () => T): T;
export function untracked<T>(act: () => T): T;
export function useSignal<T = any>(first: T): Signal<T>;
export function useComputed<T>(make: () => T): { readonly value: T; peek(): T };
export function useSignalEffect(act: () => any): void;

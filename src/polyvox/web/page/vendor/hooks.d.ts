// What the page uses of Preact's hooks, for the checker.
export type SetState<T> = (next: T | ((before: T) => T)) => void;
export function useState<T = any>(first: T | (() => T)): [T, SetState<T>];
export function useState(first: null): [any, SetState<any>];
export function useRef<T = any>(first: T): { current: T };
export function useEffect(effect: () => any, inputs?: any[]): void;
export function useLayoutEffect(effect: () => any, inputs?: any[]): void;
export function useMemo<T>(make: () => T, inputs: any[]): T;
export function useCallback<T extends (...args: any[]) => any>(callback: T, inputs: any[]): T;
export function useContext(context: any): any;
export function useId(): string;

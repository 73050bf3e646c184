// What the page uses of Preact, for the checker.
export type Child = VNode | string | number | bigint | boolean | null | undefined | Child[];
export interface VNode {
  type: any;
  props: any;
}
export class Component {
  props: any;
  state: any;
}
export function h(type: any, props: any, ...children: any[]): VNode;
export function render(node: VNode, parent: Element): void;
export function createContext(value: any): any;
export const Fragment: (props: any) => any;

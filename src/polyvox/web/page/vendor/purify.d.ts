// What the page uses of DOMPurify, for the checker.
declare global {
  var DOMPurify: {
    sanitize(text: string, options: any): DocumentFragment;
    addHook(name: string, act: (node: Element) => void): void;
  };
}
export {};

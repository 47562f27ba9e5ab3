// What a flame graph shows of an answer: all of it, and what is around the function that is looked
// at.
import type { Flame } from '../api/types';
import { arraysOf, layOut, type Layout } from './layout';
import { focusOn, reversed } from './sandwich';

export interface Look {
	/** Boxes are as wide as blocks are many, else as bytes. */
	blocks: boolean;
	/** focusOf() of a function; '': all. */
	focus: string;
	/**
	 * Brothers stand in the order of their names, so that they keep their places while a range is
	 * moved.
	 */
	byName: boolean;
	/** The answer is to be turned inside out first. */
	up?: boolean;
}

export interface Laid {
	layout: Layout;
	/** Around the function; missing if nothing is shown of it. */
	around?: { callers: Layout; callees: Layout };
}

export function lay(flame: Flame, look: Look): Laid {
	const layout = layOut(look.up ? reversed(flame) : flame, look.blocks, look.byName);
	const around = look.focus ? focusOn(flame, look.focus) : undefined;
	if (!around) return { layout };
	const part = (tree: Flame): Layout => {
		// the same frames: handed over once
		const { strings, functions, files, lines, modules } = layout;
		return {
			...layOut(tree, look.blocks, look.byName, false),
			strings,
			functions,
			files,
			lines,
			modules,
		};
	};
	return { layout, around: { callers: part(around.callers), callees: part(around.callees) } };
}

/** What can be handed over to another thread. */
export function arraysOfLaid(laid: Laid): ArrayBuffer[] {
	const layouts = [
		laid.layout,
		...(laid.around ? [laid.around.callers, laid.around.callees] : []),
	];
	return [...new Set(layouts.flatMap(arraysOf))];
}

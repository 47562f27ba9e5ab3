// A flame graph on a canvas: wheel and drag, double click to zoom, keyboard, tooltip. A second
// canvas above it has what moves with the pointer.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useDark } from '../base/colours';
import { percent } from '../base/format';
import { usePicture } from '../base/picture';
import { useSize } from '../base/ui';
import { Actions } from './actions';
import { nodeAtPoint, Painter, ROW, rowTop, type Sight } from './draw';
import {
	focusOf,
	functionOf,
	type Layout,
	type Match,
	nodeOfPath,
	pathOf,
	shortNameOf,
} from './layout';
import { Tip } from './tip';

interface Props {
	layout: Layout;
	blocks: boolean;
	match: Match | undefined;
	/** A frame. */
	picked: number;
	onPick: (node: number) => void;
	/** focusOf() of a frame: show callers above it and callees below. */
	onFocus: (focus: string) => void;
	/** Only what passes through it; undefined: can't be asked here. */
	onOnly?: (frame: number) => void;
	/** What is 100 %. */
	whole: number;
	label: string;
	/** There is another beside it. */
	part?: boolean;
	/** To be gone to, whenever `times` changes. */
	wanted?: { node: number; times: number };
	/** Callers: the root is at the bottom and not drawn. */
	upwards?: boolean;
}

// of each picture of the screen; what is left of a large graph is painted in the next one
const PAINT_MS = 8;

/** A context of the size of its canvas, in CSS pixels. */
function contextOf(
	canvas: HTMLCanvasElement | null,
	width: number,
	height: number,
): CanvasRenderingContext2D | null {
	const ratio = devicePixelRatio;
	if (!canvas || !width || !height) return null;
	if (
		canvas.width !== Math.round(width * ratio) ||
		canvas.height !== Math.round(height * ratio)
	) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
	}
	const ctx = canvas.getContext('2d');
	ctx?.setTransform(ratio, 0, 0, ratio, 0, 0);
	return ctx;
}

export function Flame(props: Props) {
	const { layout, match, picked } = props;
	const [box, { width, height }] = useSize<HTMLDivElement>();
	const canvas = useRef<HTMLCanvasElement>(null);
	const marks = useRef<HTMLCanvasElement>(null);
	const dark = useDark();
	const [selected, setSelected] = useState(0);
	const [hover, setHover] = useState<{ node: number; x: number; y: number }>();
	const [view, setView] = useState({ from: 0, to: 1, top: 0 });
	const painter = useMemo(() => new Painter(layout, dark), [layout, dark]);
	const [menu, setMenu] = useState<{ node: number; x: number; y: number }>();
	const whole = layout.width[0] || 1;
	const { upwards } = props;
	const sight: Sight = { ...view, width, height, upwards, hidden: upwards };
	const rows = layout.levels.length - (upwards ? 2 : 1);
	const deepest = Math.max(0, rows * ROW - height);
	const clampTop = (top: number) => Math.max(0, Math.min(deepest, top));

	// Of a new tree the same part is seen, if it has it: a range is moved, a live recording grows.
	const before = useRef<{ layout: Layout; zoomed: number }>();
	useLayoutEffect(() => {
		const old = before.current;
		before.current = { layout, zoomed: 0 };
		setHover(undefined);
		setMenu(undefined);
		if (!old) {
			setView({ from: 0, to: whole, top: 0 });
			return;
		}
		const node = old.zoomed ? nodeOfPath(layout, pathOf(old.layout, old.zoomed)) : 0;
		before.current.zoomed = node;
		setSelected((s) =>
			s && s < old.layout.count ? nodeOfPath(layout, pathOf(old.layout, s)) : 0,
		);
		setView((v) => ({
			from: layout.x[node]!,
			to: layout.x[node]! + (layout.width[node]! || whole),
			top: clampTop(v.top),
		}));
	}, [layout]);
	usePicture(box, () => {
		const all: Sight = { ...sight, top: 0, height: Math.max(1, rows) * ROW };
		return {
			title: props.part ? props.label : '',
			width,
			height: all.height,
			draw: (pen) => painter.paint(pen, all, match, picked),
		};
	});

	useEffect(() => {
		let painting: Generator<void, void> | undefined;
		const paint = () => {
			const ctx = painting ? null : contextOf(canvas.current, width, height);
			if (ctx) painting = painter.painting(ctx, sight, match, picked);
			const end = performance.now() + PAINT_MS;
			while (painting && !painting.next().done) {
				if (performance.now() < end) continue;
				frame = requestAnimationFrame(paint);
				return;
			}
		};
		let frame = requestAnimationFrame(paint);
		return () => cancelAnimationFrame(frame);
	}, [painter, width, height, view, match, picked]);
	useEffect(() => {
		const frame = requestAnimationFrame(() => {
			const ctx = contextOf(marks.current, width, height);
			if (ctx) painter.paintMarks(ctx, sight, hover?.node ?? -1, selected || -1);
		});
		return () => cancelAnimationFrame(frame);
	}, [painter, width, height, view, hover?.node, selected]);

	const { parent, children } = layout;
	const zoomTo = (node: number) => {
		setSelected(node);
		before.current = { layout, zoomed: node };
		setView((v) => ({
			...v,
			from: layout.x[node]!,
			to: layout.x[node]! + Math.max(layout.width[node]!, whole / 1e9),
		}));
	};
	const select = (node: number) => {
		const top = Math.max(0, layout.depth[node]! - (upwards ? 1 : 0)) * ROW;
		setSelected(node);
		props.onPick(node);
		setView((v) => ({
			...v,
			top:
				top < v.top
					? top
					: top + ROW > v.top + height
						? clampTop(top + ROW - height)
						: v.top,
		}));
	};
	// What a search goes to is zoomed to if it is too narrow to be seen.
	useEffect(() => {
		const node = props.wanted?.node ?? 0;
		if (!node || node >= layout.count) return;
		const scale = width / (view.to - view.from);
		select(node);
		if (
			layout.width[node]! * scale < 30 ||
			layout.x[node]! < view.from ||
			layout.x[node]! >= view.to
		) {
			let around = node;
			while (parent[around]! > 0 && layout.width[parent[around]!]! < layout.width[node]! * 4)
				around = parent[around]!;
			before.current = { layout, zoomed: around };
			setView((v) => ({
				...v,
				from: layout.x[around]!,
				to: layout.x[around]! + layout.width[around]!,
			}));
		}
	}, [props.wanted?.times]);
	const focusOnNode = (node: number) =>
		layout.frame[node]! >= 0 && props.onFocus(focusOf(layout, layout.frame[node]!));

	useEffect(() => {
		const element = canvas.current;
		const onWheel = (event: WheelEvent) => {
			event.preventDefault();
			setView((v) => {
				const span = v.to - v.from;
				if (event.ctrlKey || event.metaKey) {
					const middle = v.from + (span * event.offsetX) / width;
					const wanted = Math.min(
						whole,
						Math.max(whole / 1e9, span * Math.exp(event.deltaY / 200)),
					);
					const from = Math.max(
						0,
						Math.min(whole - wanted, middle - ((middle - v.from) / span) * wanted),
					);
					return { ...v, from, to: from + wanted };
				}
				const dx = ((event.shiftKey ? event.deltaY : event.deltaX) * span) / width;
				const from = Math.max(0, Math.min(whole - span, v.from + dx));
				return {
					from,
					to: from + span,
					top: clampTop(
						v.top + (event.shiftKey ? 0 : upwards ? -event.deltaY : event.deltaY),
					),
				};
			});
		};
		element?.addEventListener('wheel', onWheel, { passive: false });
		return () => element?.removeEventListener('wheel', onWheel);
	}, [width, whole, deepest]);

	const brother = (step: number) => {
		const above = parent[selected]!;
		const node = selected + step;
		return above >= 0 && node >= children[above]! && node < children[above + 1]! ? node : -1;
	};
	const toParent = () => parent[selected]!;
	const toChild = () =>
		children[selected]! < children[selected + 1]! ? children[selected]! : -1;
	const steps: Record<string, () => number> = {
		ArrowUp: upwards ? toChild : toParent,
		ArrowDown: upwards ? toParent : toChild,
		ArrowRight: () => brother(1),
		ArrowLeft: () => brother(-1),
		Home: () => 0,
	};
	const openMenu = (node: number, x: number, y: number) => {
		setHover(undefined);
		if (node > 0 || (node === 0 && layout.frame[0]! >= 0))
			setMenu({
				node,
				x: Math.max(0, Math.min(x, width - 310)),
				y: Math.max(0, Math.min(y, height - 130)),
			});
	};
	const actions = (node: number) => [
		{ text: 'Zoom to it', key: 'Enter', run: () => zoomTo(node) },
		{ text: 'Callers above, callees below', key: 'F', run: () => focusOnNode(node) },
		...(props.onOnly
			? [
					{
						text: 'Only what passes through it',
						run: () => props.onOnly!(layout.frame[node]!),
					},
				]
			: []),
		{
			text: 'Copy its name',
			run: () =>
				void navigator.clipboard
					?.writeText(functionOf(layout, layout.frame[node]!))
					.catch(() => {}),
		},
	];
	const onKey = (event: KeyboardEvent) => {
		const step = steps[event.key];
		if (step) {
			const node = step();
			if (node >= 0) select(node);
		} else if (event.key === 'Enter') {
			zoomTo(selected);
		} else if (
			(event.key === 'f' || event.key === 'F') &&
			!event.ctrlKey &&
			!event.metaKey &&
			!event.altKey
		) {
			focusOnNode(selected);
		} else if (event.key === 'ContextMenu' || (event.key === 'F10' && event.shiftKey)) {
			const left = ((layout.x[selected]! - view.from) / (view.to - view.from)) * width;
			openMenu(selected, Math.max(0, left), rowTop(sight, layout.depth[selected]!) + ROW);
		} else if (
			(event.key === 'Escape' || event.key === 'Backspace') &&
			(view.to - view.from < whole || event.key === 'Backspace')
		) {
			zoomTo(0);
		} else {
			return;
		}
		event.preventDefault();
	};
	const at = (event: MouseEvent) => nodeAtPoint(layout, sight, event.offsetX, event.offsetY);
	const style = { width: `${width}px`, height: `${height}px` };

	return (
		<div class="flame" ref={box}>
			<canvas
				ref={canvas}
				style={style}
				tabIndex={0}
				role="application"
				aria-label={
					`${props.label}. Selected: ` +
					`${functionOf(layout, layout.frame[selected] ?? -1)}, ` +
					`${percent(layout.amount[selected] ?? 0, props.whole)} percent. Arrows ` +
					'move, Enter zooms, F shows callers and callees, Escape shows all.'
				}
				onKeyDown={onKey}
				onClick={(event) => {
					const node = at(event);
					if (node >= 0) select(node);
				}}
				onDblClick={(event) => {
					const node = at(event);
					zoomTo(node < 0 || layout.width[node] === view.to - view.from ? 0 : node);
				}}
				onContextMenu={(event) => {
					event.preventDefault();
					const node = at(event);
					if (node >= 0) select(node);
					openMenu(node, event.offsetX, event.offsetY);
				}}
				onMouseMove={(event) => {
					if (menu) return;
					const node = at(event);
					setHover(
						node < 0
							? undefined
							: {
									node,
									x: Math.min(event.offsetX + 12, Math.max(0, width - 340)),
									y: Math.min(event.offsetY + 16, Math.max(0, height - 90)),
								},
					);
				}}
				onMouseLeave={() => setHover(undefined)}
			/>
			<canvas ref={marks} class="marks" style={style} aria-hidden="true" />
			{view.to - view.from < whole && (
				<button type="button" class="button unzoom" onClick={() => zoomTo(0)}>
					Show all
				</button>
			)}
			{hover && (
				<Tip
					layout={layout}
					node={hover.node}
					x={hover.x}
					y={hover.y}
					blocks={props.blocks}
					whole={props.whole}
				/>
			)}
			{menu && (
				<Actions
					title={shortNameOf(layout, layout.frame[menu.node]!)}
					x={menu.x}
					y={menu.y}
					actions={actions(menu.node)}
					onClose={() => {
						setMenu(undefined);
						canvas.current?.focus();
					}}
				/>
			)}
		</div>
	);
}

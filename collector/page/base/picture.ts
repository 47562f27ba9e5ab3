// Pictures to take along: what is drawn in a view, as SVG, and as PNG made of that. Whoever draws
// says how (usePicture); the Export menu puts together what is in sight, below lines that say what
// it is.
import { useEffect, useRef } from 'preact/hooks';
import { styleValue } from './colours';

/** What both a canvas and an SVG can draw. */
export type Pen = Pick<
	CanvasRenderingContext2D,
	| 'font'
	| 'textBaseline'
	| 'textAlign'
	| 'fillStyle'
	| 'strokeStyle'
	| 'lineWidth'
	| 'globalAlpha'
	| 'fillRect'
	| 'strokeRect'
	| 'clearRect'
	| 'fillText'
	| 'measureText'
	| 'setLineDash'
>;

export interface Picture {
	/** Above it; '': nothing. */
	title: string;
	width: number;
	height: number;
	draw: (pen: SvgPen) => void;
}

const FAMILY = 'system-ui, sans-serif';
const MARGIN = 14;
const LINE = 18;
const PNG_SCALE = 2;
const PNG_MAX = 16000; // px a side: browsers draw no larger canvas

// Characters that XML forbids: controls, and halves of surrogate pairs.
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;
const HALF = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const escaped = (text: string) =>
	text
		.replace(CONTROL, '\ufffd')
		.replace(HALF, '\ufffd')
		.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const round = (n: number) => Math.round(n * 100) / 100;

let measures: CanvasRenderingContext2D | undefined;

/** Writes SVG of what is asked of a canvas. */
export class SvgPen implements Pen {
	font = `12px ${FAMILY}`;
	textBaseline: CanvasTextBaseline = 'alphabetic';
	textAlign: CanvasTextAlign = 'start';
	fillStyle: string | CanvasGradient | CanvasPattern = '#000';
	strokeStyle: string | CanvasGradient | CanvasPattern = '#000';
	lineWidth = 1;
	globalAlpha = 1;
	private dash: number[] = [];
	readonly parts: string[] = [];

	private get opacity(): string {
		return this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : '';
	}

	private get strokes(): string {
		const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(' ')}"` : '';
		return (
			`fill="none" stroke="${escaped(String(this.strokeStyle))}" stroke-width="` +
			`${this.lineWidth}"${dash}`
		);
	}

	fillRect(x: number, y: number, width: number, height: number): void {
		if (width > 0 && height > 0)
			this.parts.push(
				`<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="` +
					`${round(height)}" fill="${escaped(String(this.fillStyle))}"` +
					`${this.opacity}/>`,
			);
	}

	strokeRect(x: number, y: number, width: number, height: number): void {
		this.parts.push(
			`<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="` +
				`${round(height)}" ${this.strokes}${this.opacity}/>`,
		);
	}

	clearRect(): void {}

	setLineDash(dash: number[]): void {
		this.dash = dash;
	}

	measureText(text: string): TextMetrics {
		measures ??= document.createElement('canvas').getContext('2d')!;
		measures.font = this.font;
		return measures.measureText(text);
	}

	fillText(text: string, x: number, y: number): void {
		const [, weight = '', size = '12'] = /^(bold |)(\d+)px/.exec(this.font) ?? [];
		// SVG's own baselines differ between programs that show it: the middle of small letters
		// lies a third of the size higher.
		const down = this.textBaseline === 'middle' ? Number(size) * 0.35 : 0;
		const anchor =
			this.textAlign === 'right' || this.textAlign === 'end'
				? ' text-anchor="end"'
				: this.textAlign === 'center'
					? ' text-anchor="middle"'
					: '';
		this.parts.push(
			`<text x="${round(x)}" y="${round(y + down)}" font-size="${size}"` +
				`${weight ? ' font-weight="bold"' : ''}${anchor} fill="` +
				`${escaped(String(this.fillStyle))}"${this.opacity}>${escaped(text)}</text>`,
		);
	}

	/** Points as x, y, x, y...; `fill` and `stroke` undefined: none. */
	path(points: number[], fill: string | undefined, stroke: string | undefined): void {
		let d = '';
		for (let i = 0; i < points.length; i += 2)
			d += `${i ? 'L' : 'M'}${round(points[i]!)} ${round(points[i + 1]!)}`;
		const paint = stroke
			? ` stroke="${escaped(stroke)}" stroke-width="${this.lineWidth}" ` +
				`stroke-linejoin="round"`
			: '';
		this.parts.push(
			`<path d="${d}" fill="${fill ? escaped(fill) : 'none'}"${paint}${this.opacity}/>`,
		);
	}
}

// ---- what is in sight ----

const shown = new Map<object, { element: () => Element | null; make: () => Picture | undefined }>();

/** `make` is asked when somebody wants the picture. `element` is where it stands. */
export function usePicture(
	element: { current: Element | null },
	make: () => Picture | undefined,
): void {
	const latest = useRef(make);
	latest.current = make;
	useEffect(() => {
		const key = {};
		shown.set(key, { element: () => element.current, make: () => latest.current() });
		return () => void shown.delete(key);
	}, []);
}

export function hasPictures(): boolean {
	return [...shown.values()].some((s) => s.element());
}

function picturesInOrder(): Picture[] {
	const all = [...shown.values()].filter((s) => s.element());
	all.sort((a, b) =>
		a.element()!.compareDocumentPosition(b.element()!) & Node.DOCUMENT_POSITION_FOLLOWING
			? -1
			: 1,
	);
	return all.map((s) => s.make()).filter((p) => p !== undefined);
}

/** Lines no wider than the picture. */
function wrapped(pen: SvgPen, text: string, room: number): string[] {
	const lines: string[] = [];
	let line = '';
	for (const word of text.split(' ')) {
		for (let rest = word; rest;) {
			const longer = line ? `${line} ${rest}` : rest;
			if (pen.measureText(longer).width <= room) {
				line = longer;
				break;
			}
			if (line) {
				lines.push(line);
				line = '';
				continue;
			}
			let fits = rest.length - 1; // a word that is too long by itself
			while (fits > 1 && pen.measureText(rest.slice(0, fits)).width > room) fits--;
			lines.push(rest.slice(0, Math.max(1, fits)));
			rest = rest.slice(Math.max(1, fits));
		}
	}
	return line ? [...lines, line] : lines;
}

export interface Said {
	title: string;
	about: string;
	/** What the recording does not hold; '': nothing. */
	incomplete: string;
}

/**
 * All pictures in sight, one below the other, with what is said of them above. undefined: there is
 * none.
 */
export function pictureAsSvg(
	said: Said,
): { svg: string; width: number; height: number } | undefined {
	const pictures = picturesInOrder();
	if (!pictures.length) return undefined;
	const inner = Math.max(320, ...pictures.map((p) => p.width));
	const pen = new SvgPen();
	let y = MARGIN;
	const say = (text: string, font: string, colour: string) => {
		pen.font = `${font} ${FAMILY}`;
		pen.fillStyle = styleValue(colour);
		for (const line of wrapped(pen, text, inner)) pen.fillText(line, MARGIN, (y += LINE) - 4);
	};
	say(said.title, 'bold 14px', 'text');
	say(said.about, '12px', 'dim');
	if (said.incomplete) say(said.incomplete, '12px', 'warn');
	y += 8;
	for (const picture of pictures) {
		if (picture.title) say(picture.title, 'bold 12px', 'text');
		const part = new SvgPen();
		picture.draw(part);
		pen.parts.push(
			`<svg x="${MARGIN}" y="${y}" width="${picture.width}" height="${picture.height}">`,
			...part.parts,
			'</svg>',
		);
		y += picture.height + 10;
	}
	const [width, height] = [Math.ceil(inner + 2 * MARGIN), Math.ceil(y + MARGIN - 10)];
	const svg =
		`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
		`viewBox="0 0 ${width} ${height}" font-family="${FAMILY}"><title>` +
		`${escaped(said.title)}</title><rect width="100%" height="100%" fill="` +
		`${styleValue('bg')}"/>\n${pen.parts.join('\n')}\n</svg>\n`;
	return { svg, width, height };
}

/** As a browser draws the SVG. */
export async function pictureAsPng(said: Said): Promise<Blob | undefined> {
	const made = pictureAsSvg(said);
	if (!made) return undefined;
	const scale = Math.min(PNG_SCALE, PNG_MAX / made.width, PNG_MAX / made.height);
	const image = new Image();
	image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(made.svg)}`;
	await image.decode();
	const canvas = document.createElement('canvas');
	canvas.width = Math.round(made.width * scale);
	canvas.height = Math.round(made.height * scale);
	canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
	return new Promise((resolve) =>
		canvas.toBlob((blob) => resolve(blob ?? undefined), 'image/png'),
	);
}

export function save(blob: Blob, name: string): void {
	const link = document.createElement('a');
	link.href = URL.createObjectURL(blob);
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

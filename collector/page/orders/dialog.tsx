// A window in front of the page: the browser's own, which keeps the focus and closes by Escape.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren }) {
	const box = useRef<HTMLDialogElement>(null);
	useEffect(() => {
		const before = document.activeElement as HTMLElement | null;
		box.current?.showModal();
		return () => before?.focus?.();
	}, []);
	return (
		<dialog
			ref={box}
			class="dialog"
			aria-label={props.title}
			onClose={props.onClose}
			onClick={(event) => event.target === box.current && box.current?.close()}
		>
			<div class="within">
				<div class="head">
					<h2>{props.title}</h2>
					<button
						type="button"
						class="plain"
						aria-label="Close"
						onClick={() => box.current?.close()}
					>
						×
					</button>
				</div>
				{props.children}
			</div>
		</dialog>
	);
}

// A browser starts no worker on a page that was opened from a folder. There this runs it in a frame, so that the
// site's search works without a server. Its name in the site has "iframe-worker": MkDocs' offline plugin looks for that.
if (location.protocol === "file:") {
  window.Worker = class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.started = new Promise((resolve, reject) => {
        const script = frame.contentDocument.createElement("script");
        script.src = url;
        script.onload = resolve;
        script.onerror = reject;
        frame.contentDocument.body.append(script);
      });
    }

    postMessage(data) {
      this.started.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })));
    }
  };
}

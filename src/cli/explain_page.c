/* The report of `hilo explain` as JSON, and as a page that draws it.
 *
 * The page is text that this file writes, which a reader without scripts sees, the JSON object, and a script that draws from
 * the object alone and puts what comes from outside into the page as text, never as HTML. */
#include "cli/explain.h"
#include "fuse/fuse.h"

#include <inttypes.h>

/* ---- JSON ------------------------------------------------------------------------------------- */

static void put_key(struct strbuf *out, const char *key, const char *text) {
    strbuf_printf(out, ",\"%s\":", key);
    cli_json_string(out, text);
}

static void put_number(struct strbuf *out, const char *key, double v) {
    strbuf_printf(out, ",\"%s\":%.9g", key, v);
}

/* Numbers of the buffers that a step reads or writes, each once. */
static void put_uses(struct strbuf *out, const char *key, const struct plan *p, const struct plan_step *s, bool writes) {
    const char *comma = "";
    strbuf_printf(out, ",\"%s\":[", key);
    for (uint32_t i = 0; i < s->nuses; i++) {
        bool counts = s->uses[i].role == PLAN_INOUT || (s->uses[i].role == PLAN_OUT) == writes;
        if (s->kind == PLAN_COPY)
            counts = (i == 1) == writes;
        for (uint32_t k = 0; k < i; k++)
            counts &= s->uses[k].buffer != s->uses[i].buffer || s->uses[k].role != s->uses[i].role;
        if (counts) {
            strbuf_printf(out, "%s%u", comma, p->buffers[s->uses[i].buffer].root);
            comma = ",";
        }
    }
    strbuf_putc(out, ']');
}

static void put_step(const struct explained *x, const struct explain_row *r, struct strbuf *out) {
    const struct plan *p = rt_executable_plan(x->exe);
    strbuf_printf(out, "{\"step\":%u,\"group\":%u", r->step, r->group);
    put_key(out, "kind", r->kind);
    put_key(out, "name", r->name);
    put_key(out, "tier", explain_tier(x, r));
    put_key(out, "text", r->text);
    put_key(out, "ops", r->ops);
    put_key(out, "where", r->where);
    put_number(out, "flops", r->flops);
    put_number(out, "bytes", r->bytes);
    put_number(out, "received", r->received);
    put_number(out, "half", r->half);
    put_number(out, "ms", r->ms);
    put_number(out, "times", r->times);
    put_number(out, "roof_ms", r->roof_ms);
    put_number(out, "tasks", r->tasks);
    put_number(out, "speedup", r->speedup);
    put_number(out, "imbalance", x->threads / r->speedup - 1);
    if (r->launch)
        strbuf_printf(out, ",\"blocks\":%u,\"block_threads\":%u,\"shared_bytes\":%u", r->launch->blocks, r->launch->threads,
                      r->launch->shared_bytes);
    if (!p->evaluated) {
        put_uses(out, "reads", p, &p->steps[r->step], false);
        put_uses(out, "writes", p, &p->steps[r->step], true);
    }
    strbuf_putc(out, '}');
}

static void put_buffer(const struct explained *x, uint32_t i, struct strbuf *out) {
    const struct plan *p = rt_executable_plan(x->exe);
    const struct plan_buffer *b = &p->buffers[i];
    struct strbuf type;
    strbuf_init(&type, mem_system_allocator());
    if (!plan_is_value(b))
        rt_type_text(ir_dtype_get(b->dtype)->number, b->rank, b->dims, &type);
    strbuf_printf(out, "{\"buffer\":%u", i);
    put_key(out, "type", type.p ? type.p : "");
    put_key(out, "place", plan_place_name(b->place));
    strbuf_printf(out, ",\"bytes\":%zu,\"offset\":%zu", b->bytes, b->offset);
    if (x->live[i].first <= x->live[i].last)
        strbuf_printf(out, ",\"first\":%u,\"last\":%u", x->live[i].first, x->live[i].last);
    strbuf_putc(out, '}');
    strbuf_free(&type);
}

static void put_reason(struct strbuf *out, const char *name, const char *text) {
    strbuf_puts(out, out->p[out->n - 1] == '{' ? "" : ",");
    cli_json_string(out, name);
    strbuf_putc(out, ':');
    cli_json_string(out, text);
}

void explain_json(const struct explained *x, struct strbuf *out) {
    const struct plan *p = rt_executable_plan(x->exe);
    const struct plan_memory *memory = &p->memory[plan_main_space(p)];
    const char *comma = "";
    strbuf_puts(out, "{\"program\":");
    cli_json_string(out, x->file);
    put_key(out, "evaluated", x->evaluated);
    put_key(out, "placement", p->placement ? p->placement : "");
    put_key(out, "gpu", x->gpu ? x->gpu : "");
    put_number(out, "launches", x->launches);
    put_number(out, "transfers", x->transfers);
    put_number(out, "transferred_bytes", x->transferred);
    if (x->gpu) {
        const struct rt_gpu_code code = rt_executable_gpu_code(x->exe);
        put_number(out, "ptx_bytes", (double)code.ptx_bytes);
        put_number(out, "cubin_bytes", (double)code.cubin_bytes);
        put_key(out, "code", !code.loaded ? "" : code.runs_cubins ? "cubin" : "PTX");
    }
    put_number(out, "threads", x->threads);
    put_number(out, "speedup", x->speedup);
    put_number(out, "runs", x->runs);
    put_number(out, "ms", x->total_ms);
    put_key(out, "parts", x->parts ? x->parts : "");
    if (x->link) {
        put_key(out, "link", x->link);
        put_number(out, "step_ms", x->step_ms);
        put_number(out, "waits_ms", x->waits_ms);
        put_number(out, "serial_ms", x->serial_ms);
    }
    put_number(out, "flops_per_ms", x->flop_rate);
    put_number(out, "bytes_per_ms", x->byte_rate);
    strbuf_printf(out, ",\"arguments\":%" PRIu64 ",\"results\":%" PRIu64 ",\"constants\":%" PRIu64, x->arguments, x->results,
                  x->constants);
    strbuf_printf(out, ",\"temporaries\":%zu,\"live\":%zu,\"scratch\":%zu,\n\"steps\":[", memory->block_bytes,
                  memory->live_bytes, memory->scratch_bytes);
    for (uint32_t i = 0; i < x->nrows; i++)
        if (explain_is_shown(&x->rows[i])) {
            strbuf_printf(out, "%s\n", comma);
            put_step(x, &x->rows[i], out);
            comma = ",";
        }
    strbuf_puts(out, "],\n\"buffers\":[");
    comma = "";
    for (uint32_t i = 0; i < p->nbuffers; i++)
        if (p->buffers[i].root == i) {
            strbuf_printf(out, "%s\n", comma);
            put_buffer(x, i, out);
            comma = ",";
        }
    strbuf_puts(out, "],\n\"tasks\":[");
    for (size_t i = 0; i < x->ntasks; i++)
        strbuf_printf(out, "%s\n{\"step\":%u,\"thread\":%u,\"begin_ms\":%.6f,\"end_ms\":%.6f}", i ? "," : "", x->tasks[i].step,
                      x->tasks[i].thread, x->tasks[i].begin_ms, x->tasks[i].end_ms);
    strbuf_puts(out, "],\n\"reasons\":{");
    explain_reasons(x, out, put_reason);
    strbuf_puts(out, "}}\n");
}

/* ---- HTML ------------------------------------------------------------------------------------- */

static void put_html(struct strbuf *out, const char *text) {
    for (; *text; text++)
        switch (*text) {
        case '<': strbuf_puts(out, "&lt;"); break;
        case '>': strbuf_puts(out, "&gt;"); break;
        case '&': strbuf_puts(out, "&amp;"); break;
        case '"': strbuf_puts(out, "&quot;"); break;
        default: strbuf_putc(out, *text);
        }
}

static const char style[] =
    "body{font:14px/1.4 sans-serif;margin:2em}pre{background:#f4f4f4;padding:1em;white-space:pre-wrap}\n"
    "#program{display:flex;gap:2em;align-items:flex-start}#graph{max-height:80vh;overflow:auto;flex:none}\n"
    "#details{position:sticky;top:1em;max-width:44em}#details dt{color:#666;margin-top:.5em}#details dd{margin:0;"
    "white-space:pre-wrap}\n"
    "svg text{font:12px sans-serif}.step{cursor:pointer}.step:hover rect,.chosen rect{stroke:#000}\n"
    "table{border-collapse:collapse}td,th{text-align:left;vertical-align:top;padding:.2em .8em;border-bottom:1px solid #ddd}\n"
    "td.n{text-align:right;white-space:nowrap}.dim{color:#666}";

/* Draws into the elements that explain_page writes. `steps` keeps the order of the table, by time where it was measured. */
static const char script[] =
    "const report=JSON.parse(document.getElementById('report').textContent);\n"
    "const steps=report.steps.slice().sort((a,b)=>a.step-b.step),rows=new Map(steps.map((s,i)=>[s.step,i]));\n"
    "const buffers=new Map(report.buffers.map(b=>[b.buffer,b]));\n"
    "const draw=(parent,name,attributes,text)=>{\n"
    "  const e=document.createElementNS(document.querySelector('svg').namespaceURI,name);\n"
    "  for(const k in attributes)e.setAttribute(k,attributes[k]);\n"
    "  if(text!==undefined)e.textContent=text;\n"
    "  parent.appendChild(e);return e};\n"
    "const hint=(e,text)=>draw(e,'title',{},text);\n"
    "const picture=(id,width,height)=>draw(document.getElementById(id),'svg',{width,height,viewBox:`0 0 ${width} "
    "${height}`});\n"
    "const size=(v,unit)=>{let i=0;for(;v>=1000&&i<4;i++)v/=1000;return v.toFixed(i?1:0)+' '+['','k','M','G','T'][i]+unit};\n"
    "const title=s=>`${s.step} ${s.name||s.kind}`,what=s=>s.text.split(/[:;]/)[0]||s.ops||s.kind;\n"
    "const share=s=>report.ms>0?s.ms/report.ms:0,heat=s=>`hsl(${40-40*Math.min(1,4*share(s))} 90% ${94-40*Math.min(1,"
    "4*share(s))}%)`;\n"
    "let chosen=null;\n"
    "function details(s,box){\n"
    "  if(chosen)chosen.classList.remove('chosen');\n"
    "  chosen=box;box.classList.add('chosen');\n"
    "  const list=document.createElement('dl'),add=(name,text)=>{if(!text)return;\n"
    "    for(const[tag,value]of[['dt',name],['dd',text]]){const e=document.createElement(tag);e.textContent=value;"
    "list.appendChild(e)}};\n"
    "  const types=ids=>(ids||[]).map(i=>{const b=buffers.get(i);return b?`${b.type} ${b.place} "
    "${b.buffer}`:''}).join('\\n');\n"
    "  const reasons=Object.entries(report.reasons).filter(([name])=>s.text.split('materialised:')[1]?.split(';')[0].split(',')"
    ".some(r=>r.trim()===name));\n"
    "  add('step',`${title(s)}, ${s.kind}`);add('what',s.text);add('operations',s.ops);add('program',s.where);\n"
    "  add('why its results are stored',reasons.map(([name,text])=>`${name}: ${text}`).join('\\n'));\n"
    "  add('reads',types(s.reads));add('writes',types(s.writes));\n"
    "  add('time',`${s.ms.toFixed(4)} ms${s.times>1?`, ${s.times} times`:''}; at the machine's rates at least "
    "${s.roof_ms.toFixed(4)} ms`);\n"
    "  add('work',`${size(s.flops,'flop')}, ${size(s.bytes,'B')}`);\n"
    "  add('threads',(s.tasks?`${s.tasks} tasks, `:'')+`speed-up ${s.speedup.toFixed(1)} of ${report.threads}, imbalance "
    "${(100*s.imbalance).toFixed(0)} %`);\n"
    "  document.getElementById('details').replaceChildren(list)}\n"
    /* Steps from top to bottom; a value's line leaves the step that wrote it last and enters the steps that read it. */
    "function graph(){\n"
    "  const high=34,left=150,wide=430,svg=picture('graph',left+wide+10,steps.length*high+10),writer=new Map(),lines=[];\n"
    "  steps.forEach((s,i)=>{\n"
    "    for(const b of s.reads||[])if(writer.has(b))lines.push([writer.get(b),i,b]);\n"
    "    for(const b of s.writes||[])writer.set(b,i)});\n"
    "  for(const[from,to,b]of lines){\n"
    "    const y=from*high+26,z=to*high+10,out=from===to-1?8:Math.min(left-10,16+9*(to-from));\n"
    "    hint(draw(svg,'path',{d:`M${left} ${y}C${left-out} ${y} ${left-out} ${z} ${left} ${z}`,fill:'none',stroke:'#8ab',"
    "'stroke-width':1.5}),buffers.get(b)?.type||'')}\n"
    "  steps.forEach((s,i)=>{\n"
    "    const box=draw(svg,'g',{class:'step'});\n"
    "    draw(box,'rect',{x:left,y:i*high+4,width:wide,height:high-8,rx:3,fill:heat(s),stroke:'#aaa'});\n"
    "    draw(box,'text',{x:left+8,y:i*high+high/2+4},`${title(s)}  ${what(s)}`.slice(0,58));\n"
    "    draw(box,'text',{x:left+wide-8,y:i*high+high/2+4,'text-anchor':'end'},`${(100*share(s)).toFixed(1)} %`);\n"
    "    box.addEventListener('click',()=>details(s,box));if(i===0)details(s,box)})}\n"
    "function times(){\n"
    "  const order=report.steps.slice().sort((a,b)=>b.ms-a.ms).slice(0,60),most=Math.max(...order.map(s=>Math.max(s.ms"
    ",s.roof_ms)),1e-9);\n"
    "  const svg=picture('times',1000,order.length*18+4),scale=560/most;\n"
    "  order.forEach((s,i)=>{\n"
    "    const line=draw(svg,'g',{});\n"
    "    draw(line,'text',{x:290,y:i*18+14,'text-anchor':'end'},`${title(s)} ${what(s)}`.slice(0,46));\n"
    "    draw(line,'rect',{x:300,y:i*18+3,width:Math.max(.5,s.ms*scale),height:12,fill:'#48c'});\n"
    "    draw(line,'rect',{x:300+s.roof_ms*scale-1,y:i*18+1,width:2,height:16,fill:'#c33'});\n"
    "    draw(line,'text',{x:306+Math.max(s.ms,s.roof_ms)*scale,y:i*18+14},`${s.ms.toFixed(4)} ms, "
    "${(100*s.roof_ms/(s.ms||1)).toFixed(0)} "
    "% of the limit`)})}\n"
    /* A rectangle a buffer: its place in the block, and the steps during which it is needed. */
    "function memory(){\n"
    "  const live=report.buffers.filter(b=>b.place==='block'&&b.first!==undefined&&b.bytes),"
    "block=Math.max(report.temporaries,1);\n"
    "  const last=Math.max(1,...steps.map(s=>s.step))+1,svg=picture('memory',1000,300);\n"
    "  draw(svg,'rect',{x:0,y:0,width:1000,height:300,fill:'#f4f4f4'});\n"
    "  for(const b of live)\n"
    "    hint(draw(svg,'rect',{x:1000*b.first/last,y:300*(1-(b.offset+b.bytes)/block),width:1000*(b.last+1-b.first)/last,"
    "height:300*b.bytes/block,fill:`hsl(${b.buffer*47%360} 50% 65%)`,stroke:'#fff','stroke-width':.5}),"
    "`${b.type}, ${size(b.bytes,'B')}, steps ${b.first} to ${b.last}`)}\n"
    "function timeline(){\n"
    "  const tasks=report.tasks;if(!tasks.length){document.getElementById('timeline').textContent='--run shows it.';return}\n"
    "  const end=Math.max(...tasks.map(t=>t.end_ms)),begin=Math.min(...tasks.map(t=>t.begin_ms)),"
    "threads=1+Math.max(...tasks.map("
    "t=>t.thread)),high=28,scale=1000/(end-begin||1),svg=picture('timeline',1000,threads*high);\n"
    "  for(const t of tasks)\n"
    "    hint(draw(svg,'rect',{x:(t.begin_ms-begin)*scale,y:t.thread*high+2,width:Math.max(.3,(t.end_ms-t.begin_ms)*scale),"
    "height:high-4,fill:`hsl(${t.step*67%360} 55% 60%)`}),`thread ${t.thread}, step "
    "${title(steps[rows.get(t.step)]||{step:t.step})}, "
    "${(t.end_ms-t.begin_ms).toFixed(4)} ms`)}\n"
    "graph();times();memory();timeline();\n";

static void put_row(const struct explained *x, const struct explain_row *r, struct strbuf *out) {
    strbuf_printf(out, "<tr><td>%u %s ", r->step, r->kind);
    put_html(out, r->name);
    strbuf_printf(out, "</td><td class=\"n\">%.4f</td><td class=\"n\">%.1f %%</td><td>", r->ms,
                  x->total_ms > 0 ? 100 * r->ms / x->total_ms : 0);
    put_html(out, r->text);
    strbuf_puts(out, *r->text ? "<br>" : "");
    put_html(out, r->ops);
    strbuf_puts(out, "<br><span class=\"dim\">");
    put_html(out, r->where);
    strbuf_puts(out, "</span></td></tr>\n");
}

static void put_reason_row(struct strbuf *out, const char *name, const char *text) {
    strbuf_puts(out, "<tr><td>");
    put_html(out, name);
    strbuf_puts(out, "</td><td>");
    put_html(out, text);
    strbuf_puts(out, "</td></tr>\n");
}

void explain_page(const struct explained *x, struct strbuf *out) {
    struct strbuf head;
    strbuf_init(&head, mem_system_allocator());
    explain_head(x, &head);
    strbuf_printf(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>hilo explain</title>\n"
                       "<style>%s</style></head>\n<body>\n<h1>hilo explain</h1>\n<pre>", style);
    put_html(out, head.p ? head.p : "");
    strbuf_puts(out, "</pre>\n<h2>Steps</h2>\n<p>In the order in which they run; lines are values. The darker, the "
                     "more time; click for "
                     "details.</p>\n<div id=\"program\"><div id=\"graph\"><svg width=\"0\" "
                     "height=\"0\"></svg></div><div id=\"details\"></div></div>\n"
                     "<h2>Time beside its limit</h2>\n<p>The red mark is the least time by operations and bytes at "
                     "the machine's "
                     "rates; caches are faster than its memory.</p>\n<div id=\"times\"></div>\n"
                     "<h2>Memory over the schedule</h2>\n<p>From left to right the steps, upwards the block of "
                     "temporaries.</p>\n"
                     "<div id=\"memory\"></div>\n<h2>Tasks by thread</h2>\n<div id=\"timeline\"></div>\n"
                     "<h2>All steps</h2>\n<table>\n<tr><th>step</th><th>ms</th><th>share</th><th>what</th></tr>\n");
    for (uint32_t i = 0; i < x->nrows; i++)
        if (explain_is_shown(&x->rows[i]))
            put_row(x, &x->rows[i], out);
    strbuf_puts(out, "</table>\n<h2>Why values are materialised</h2>\n<table>\n");
    explain_reasons(x, out, put_reason_row);
    strbuf_puts(out, "</table>\n<script type=\"application/json\" id=\"report\">");
    explain_json(x, out);
    strbuf_printf(out, "</script>\n<script>%s</script>\n</body></html>\n", script);
    out->failed |= head.failed;
    strbuf_free(&head);
}
